/* SPDX-License-Identifier: MIT */
/* The sampled softmax: the target of a row against candidates that all rows share.
 * WIDTH: floats in a table row.  GROUP: work-items in a group, a power of two. */
#ifndef WIDTH
#error WIDTH is missing: floats in a row
#endif
#ifndef GROUP
#error GROUP is missing: work-items in a group
#endif

/* The sum, or the largest, of the group's values, to all its work-items. */
float group_sum(local float *part, float mine)
{
	const uint me = get_local_id(0);

	barrier(CLK_LOCAL_MEM_FENCE); /* part may still be read from the last time */
	part[me] = mine;
	for (uint half_size = GROUP / 2; half_size > 0; half_size /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (me < half_size)
			part[me] += part[me + half_size];
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	return part[0];
}

float group_max(local float *part, float mine)
{
	const uint me = get_local_id(0);

	barrier(CLK_LOCAL_MEM_FENCE); /* as above */
	part[me] = mine;
	for (uint half_size = GROUP / 2; half_size > 0; half_size /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (me < half_size)
			part[me] = fmax(part[me], part[me + half_size]);
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	return part[0];
}

/* One group a row.  words and bias hold n_candidates candidates, then one target a row.
 * logits: in, row x candidate products without bias; out, the gradient with respect to them, times scale.
 * target_gradient, loss: one a row.  A candidate that is the row's target does not count against it.
 * Four candidates at a time, since not every driver for CPUs makes exp of several floats out of exp of one; the last
 * three or fewer are with a work-item each. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sampled_softmax(global float *logits, global float *target_gradient, global float *loss, global const float *hidden,
                global const float *target_table, global const int *words, global const float *bias,
                const uint n_candidates, const float scale)
{
	local float part[GROUP];
	const uint row = get_global_id(0) / GROUP, me = get_local_id(0);
	const uint n_fours = n_candidates / 4, last = n_fours * 4 + me;
	const int target = words[n_candidates + row];
	global float *mine = logits + (size_t)row * n_candidates;
	float dot_part = 0, last_logit = -INFINITY;
	float4 top4 = (float4)(-INFINITY), sum4 = (float4)(0);

	for (uint k = me; k < WIDTH; k += GROUP)
		dot_part += hidden[(size_t)row * WIDTH + k] * target_table[(size_t)row * WIDTH + k];
	const float target_logit = group_sum(part, dot_part) + bias[n_candidates + row];

	for (uint i = me; i < n_fours; i += GROUP) {
		const float4 logit =
		    select(vload4(i, mine) + vload4(i, bias), (float4)(-INFINITY), vload4(i, words) == target);

		vstore4(logit, i, mine);
		top4 = fmax(top4, logit);
	}
	if (last < n_candidates && words[last] != target)
		last_logit = mine[last] + bias[last];
	top4.lo = fmax(top4.lo, top4.hi);
	const float top = fmax(group_max(part, fmax(fmax(top4.x, top4.y), last_logit)), target_logit);

	for (uint i = me; i < n_fours; i += GROUP) {
		const float4 e = exp(vload4(i, mine) - top);

		vstore4(e, i, mine);
		sum4 += e;
	}
	const float last_e = exp(last_logit - top);
	sum4.lo += sum4.hi;
	const float sum = group_sum(part, sum4.x + sum4.y + last_e) + exp(target_logit - top);

	for (uint i = me; i < n_fours; i += GROUP)
		vstore4(vload4(i, mine) * (scale / sum), i, mine);
	if (last < n_candidates)
		mine[last] = last_e * (scale / sum);
	if (me == 0) {
		loss[row] = scale * (top + log(sum) - target_logit);
		target_gradient[row] = scale * (exp(target_logit - top) / sum - 1.0f);
	}
}

/* The share of the targets in two gradients: rows (of their table rows, after those of the candidates) and
 * hidden_gradient, which the candidates' product is added to later.  One work-item a float. */
kernel void target_rows(global float *rows, global float *hidden_gradient, global const float *target_gradient,
                        global const float *hidden, global const float *target_table, const uint n_candidates,
                        const uint n)
{
	const uint i = get_global_id(0);

	if (i >= n)
		return;
	rows[(size_t)n_candidates * WIDTH + i] = target_gradient[i / WIDTH] * hidden[i];
	hidden_gradient[i] = target_gradient[i / WIDTH] * target_table[i];
}

/* out[at] = sum of n losses, out[at + 1] = stop.  One group. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sum_losses(global float *out, const uint at, global const float *loss, const float stop, const uint n)
{
	local float part[GROUP];
	float sum = 0;

	for (uint i = get_local_id(0); i < n; i += GROUP)
		sum += loss[i];
	sum = group_sum(part, sum);
	if (get_local_id(0) == 0) {
		out[at] = sum;
		out[at + 1] = stop;
	}
}
