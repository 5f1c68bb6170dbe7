/* SPDX-License-Identifier: MIT */
/* Note [CLBlast on CPUs]: CLBlast knows no parameters of today's CPU drivers and takes its defaults, which also send
 * products of our size to its "direct" kernel.  The rows below were found by trying on steps of 2048 words on one core
 * with AVX-512: all of such a step took 60 ms on PoCL 3.1 with the best tiles of 128 x 128 and takes 40 ms with PoCL's
 * row, whose work-item has 16 x 8 sums; on Intel's runtime, which makes vectors of neighbouring work-items itself, 92
 * ms with CLBlast's defaults and 52 ms with its row, which leaves the vectors to it (1.5 times as long with vectors of
 * 4).  Other drivers keep what CLBlast has for them. */
#include "tune.h"

#include <clblast_c.h>
#include <string.h>

#define N_PRODUCT 16

static const char *product_names[N_PRODUCT] = { "GEMMK", "MWG", "NWG", "KWG",  "MDIMC", "NDIMC", "MDIMA", "NDIMB",
	                                        "KWI",   "VWM", "VWN", "STRM", "STRN",  "SA",    "SB",    "KREG" };

struct row {
	const char *platform; /* what its name contains */
	size_t product[N_PRODUCT];
};

static const struct row rows[] = {
	{ .platform = "Portable Computing Language", .product = { 0, 64, 32, 16, 4, 4, 4, 4, 8, 8, 8, 0, 0, 0, 0, 1 } },
	{ .platform = "Intel(R) OpenCL", .product = { 0, 64, 64, 16, 16, 16, 16, 16, 2, 1, 1, 1, 1, 0, 0, 1 } },
};

static const struct row *row_of(cl_device_id device)
{
	char name[128] = "";
	cl_device_type type = 0;
	cl_platform_id platform;

	clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
	if (!(type & CL_DEVICE_TYPE_CPU) ||
	    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL))
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
	if (!rc)
		rc = CLBlastOverrideParameters(device, "Xgemm", CLBlastPrecisionSingle, N_PRODUCT, product_names,
		                               row->product);
	return rc ? fail_cl("CLBlastOverrideParameters", (int)rc) : CHOIR_SUCCESS;
}
