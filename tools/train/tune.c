/* SPDX-License-Identifier: MIT */
/* Note [CLBlast on CPUs]: CLBlast knows no parameters of today's CPU drivers and takes its defaults, which also send products of our size
 * to its "direct" kernel.  The nine products of a step (batch 4096 on 2 ranks, one core each, AVX-512) take 184 ms that way on PoCL 3.1;
 * with the row below, found by clblast_tuner_xgemm at 2048 x 1024 x 64, they take 41 ms.  On Intel's runtime the defaults are the best
 * found, but not the direct kernel: 300 ms against 165 ms.  Other drivers keep what CLBlast has for them. */
#include "tune.h"

#include <clblast_c.h>
#include <string.h>

#define N_PRODUCT 16

static const char *product_names[N_PRODUCT] = { "GEMMK", "MWG", "NWG", "KWG",  "MDIMC", "NDIMC", "MDIMA", "NDIMB",
						"KWI",   "VWM", "VWN", "STRM", "STRN",  "SA",    "SB",    "KREG" };

struct row {
	const char *platform;      /* what its name contains */
	size_t product[N_PRODUCT]; /* all 0: CLBlast's own */
};

static const struct row rows[] = {
	{ .platform = "Portable Computing Language", .product = { 0, 128, 128, 16, 8, 16, 16, 32, 2, 8, 4, 1, 1, 0, 0, 1 } },
	{ .platform = "Intel(R) OpenCL" },
};

static const struct row *row_of(cl_device_id device)
{
	char name[128] = "";
	cl_device_type type = 0;
	cl_platform_id platform;

	clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
	if (!(type & CL_DEVICE_TYPE_CPU) || clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL))
		return NULL;
	clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strstr(name, rows[i].platform))
			return rows + i;
	return NULL;
}

choir_status tune(cl_device_id device)
{
	const struct row *row = row_of(device);
	const char *least = "XGEMM_MIN_INDIRECT_SIZE";
	size_t one = 1;
	CLBlastStatusCode rc;

	if (!row)
		return CHOIR_SUCCESS;
	rc = CLBlastOverrideParameters(device, "GemmRoutine", CLBlastPrecisionSingle, 1, &least, &one);
	if (!rc && row->product[1])
		rc = CLBlastOverrideParameters(device, "Xgemm", CLBlastPrecisionSingle, N_PRODUCT, product_names, row->product);
	return rc ? fail_cl("CLBlastOverrideParameters", (int)rc) : CHOIR_SUCCESS;
}
