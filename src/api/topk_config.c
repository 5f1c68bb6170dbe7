/* SPDX-License-Identifier: MIT */
#include "api/topk_config.h"

#include "topk/algorithm.h"

#include "base/plural.h"

#include <math.h>

enum { SENDS_IN_FLIGHT = 4 }; /* unless the config says otherwise */

static choir_status bad_number(const char *field, double value)
{
	return error_set(CHOIR_ARGUMENT, "choir_topk_create: %s is %g", field, value);
}

static bool is_density(double density)
{
	return density > 0 && density <= 1;
}

static choir_status check_numbers(const choir_topk_config *config)
{
	if (config->density != 0 && !is_density(config->density))
		return bad_number("density", config->density);
	if (config->k > config->count)
		return error_set(CHOIR_ARGUMENT, "choir_topk_create: k is %zu of %zu element%s", config->k,
		                 config->count, plural(config->count));
	if (config->n_densities > 0 && (config->densities == NULL || config->calls_per_density == 0))
		return error_set(CHOIR_ARGUMENT, "choir_topk_create: n_densities is %zu without %s",
		                 config->n_densities, config->densities == NULL ? "densities" : "calls_per_density");
	for (size_t i = 0; i < config->n_densities; i++)
		if (!is_density(config->densities[i]))
			return bad_number("one of the densities", config->densities[i]);
	if (!isfinite(config->decay))
		return bad_number("decay", config->decay);
	if (!isfinite(config->scale))
		return bad_number("scale", config->scale);
	if (!isfinite(config->momentum) || config->momentum < 0)
		return bad_number("momentum", config->momentum);
	return CHOIR_SUCCESS;
}

choir_status topk_config_types(const char *call, choir_dtype dtype, choir_op op)
{
	if (choir_dtype_bytes(dtype) == 0)
		return error_set(CHOIR_ARGUMENT, "%s: dtype %d is no dtype", call, (int)dtype);
	if (dtype != CHOIR_F16 && dtype != CHOIR_BF16 && dtype != CHOIR_F32 && dtype != CHOIR_F64)
		return error_set(CHOIR_UNSUPPORTED, "%s: dtype is %s, which is none of f16, bf16, f32, f64", call,
		                 choir_dtype_name(dtype));
	if (op != CHOIR_OP_SUM && op != CHOIR_OP_MEAN)
		return error_set(CHOIR_UNSUPPORTED, "%s: op is %s, but a residual is what a sum or mean has left out",
		                 call, choir_op_name(op));
	return CHOIR_SUCCESS;
}

static choir_status check_types(const choir_topk_config *config)
{
	TRY(topk_config_types("choir_topk_create", config->dtype, config->op));
	if (config->count > UINT64_C(1) << 48)
		return error_set(CHOIR_ARGUMENT, "choir_topk_create: %zu elements are more than any memory holds",
		                 config->count);
	return CHOIR_SUCCESS;
}

static choir_status check_policy(const choir_topk_config *config)
{
	bool reuses = config->threshold == CHOIR_TOPK_THRESHOLD_REUSE,
	     bands = config->threshold_low != 0 || config->threshold_high != 0;

	if ((unsigned)config->threshold > CHOIR_TOPK_THRESHOLD_SAMPLED)
		return error_set(CHOIR_ARGUMENT, "choir_topk_create: threshold is %d, which is no policy",
		                 (int)config->threshold);
	if (!reuses && (config->threshold_period != 0 || bands || config->threshold_factor != 0))
		return error_set(CHOIR_ARGUMENT,
		                 "choir_topk_create: threshold_period, _low, _high and _factor are for REUSE only");
	if (bands &&
	    !(config->threshold_low >= 0 && config->threshold_low <= 1 &&
	      (config->threshold_high == 0 || config->threshold_high >= 1) && isfinite(config->threshold_high)))
		return error_set(CHOIR_ARGUMENT, "choir_topk_create: the threshold's band is %g to %g of k",
		                 config->threshold_low, config->threshold_high);
	if (config->threshold_factor != 0 && !(config->threshold_factor >= 1 && isfinite(config->threshold_factor)))
		return bad_number("threshold_factor", config->threshold_factor);
	return CHOIR_SUCCESS;
}

static choir_status set_policy(const choir_topk_config *config, struct topk_settings *out)
{
	out->policy = config->threshold;
	out->select = topk_policy_select(out->algorithm, out->policy);
	out->reuse = out->preset->local;
	if (config->threshold_period > 0)
		out->reuse.period = config->threshold_period;
	if (config->threshold_low > 0)
		out->reuse.low = config->threshold_low;
	if (config->threshold_high > 0)
		out->reuse.high = config->threshold_high;
	if (config->threshold_factor > 0)
		out->reuse.factor = config->threshold_factor;
	if (out->select == NULL && out->policy != CHOIR_TOPK_THRESHOLD_AUTO)
		return error_set(CHOIR_UNSUPPORTED, "choir_topk_create: threshold: %s selects in its own way only",
		                 out->algorithm->name);
	return CHOIR_SUCCESS;
}

/* Rounded to nothing that is wider. */
static choir_status set_wire(const choir_topk_config *config, struct topk_settings *out)
{
	choir_dtype wire = config->wire_dtype, work = out->types.work;

	if (wire == (choir_dtype)0 || wire == work)
		return CHOIR_SUCCESS;
	if (choir_dtype_bytes(wire) == 0)
		return error_set(CHOIR_ARGUMENT, "choir_topk_create: wire_dtype %d is no dtype", (int)wire);
	if (wire != CHOIR_F16 && wire != CHOIR_BF16 && (wire != CHOIR_F32 || work != CHOIR_F64))
		return error_set(CHOIR_UNSUPPORTED,
		                 "choir_topk_create: wire_dtype is %s: values of %s travel as f16, bf16%s or %s",
		                 choir_dtype_name(wire), choir_dtype_name(config->dtype),
		                 work == CHOIR_F64 ? ", f32" : "", choir_dtype_name(work));
	if (out->algorithm->select == NULL)
		return error_set(CHOIR_UNSUPPORTED,
		                 "choir_topk_create: wire_dtype: %s sends sums, which are not rounded",
		                 out->algorithm->name);
	out->types.wire = wire;
	out->types.wire_bytes = (uint32_t)choir_dtype_bytes(wire);
	return CHOIR_SUCCESS;
}

choir_status topk_config_settings(const choir_topk_config *config, struct topk_settings *out)
{
	const struct topk_algorithm *algorithm =
	    topk_algorithm_find(config->algorithm != NULL ? config->algorithm : "oktopk");
	const struct topk_preset *preset = topk_preset_find(config->preset);
	double density = config->density;
	char names[256];

	TRY(check_types(config));
	TRY(check_numbers(config));
	TRY(check_policy(config));
	if (algorithm == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_topk_create: there is no algorithm '%s'; there are %s",
		                 config->algorithm, topk_algorithm_names(names, sizeof names));
	if (preset == NULL)
		return error_set(CHOIR_ARGUMENT,
		                 "choir_topk_create: there is no preset '%s'; there are vgg, lstm, bert",
		                 config->preset);
	if (density == 0)
		density = algorithm->density > 0 ? algorithm->density : 0.01;
	*out = (struct topk_settings){ .types = topk_types_of(config->count, config->dtype),
		                       .dtype = config->dtype,
		                       .algorithm = algorithm,
		                       .preset = preset,
		                       .density = density,
		                       .decay = config->decay,
		                       .scale = config->scale,
		                       .momentum = config->momentum,
		                       .densities = (double *)config->densities,
		                       .n_densities = config->n_densities,
		                       .calls_per_density = config->calls_per_density,
		                       .k = config->k,
		                       .dense_calls = config->dense_calls,
		                       .op = config->op,
		                       .nan_fails = config->nan_fails != 0 };
	if (config->dense_calls == 0 && config->preset != NULL)
		out->dense_calls = preset->dense_calls;
	out->sends_in_flight = config->sends_in_flight > 0 ? config->sends_in_flight : SENDS_IN_FLIGHT;
	TRY(set_wire(config, out));
	return set_policy(config, out);
}
