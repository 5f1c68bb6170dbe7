# SPDX-License-Identifier: MIT
# To be sourced.  Makes $folder, which goes with the script.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
mkfifo "$folder/rows"

# interrupted COMMAND...: choir-bench gets Ctrl-C after its first row, and must end with 130.
interrupted() {
	"$@" >"$folder/rows" &
	bench=$!
	{
		while IFS= read -r line; do
			case $line in
			"#"*) ;;
			*) kill -INT $bench && break ;;
			esac
		done
		cat >/dev/null
	} <"$folder/rows"
	status=0
	wait $bench || status=$?
	[ $status -eq 77 ] && exit 77
	[ $status -eq 130 ] || { echo "exit status $status instead of 130"; exit 1; }
}
