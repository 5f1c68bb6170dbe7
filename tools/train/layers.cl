/* SPDX-License-Identifier: MIT */
/* What the dense layers need beside matrix products.  Matrices are row-major; one work-item an element, n of them,
 * unless said otherwise. */

/* params[first + i] -= rate * gradient[i] */
kernel void update_dense(global float *params, global const float *gradient, const uint first, const float rate,
                         const uint n)
{
	const uint i = get_global_id(0);

	if (i < n)
		params[first + i] -= rate * gradient[i];
}

/* the same by a velocity, of which momentum is what stays of it */
kernel void update_momentum(global float *params, global float *velocity, global const float *gradient,
                            const uint first, const float rate, const float momentum, const uint n)
{
	const uint i = get_global_id(0);

	if (i >= n)
		return;
	velocity[first + i] = momentum * velocity[first + i] + gradient[i];
	params[first + i] -= rate * velocity[first + i];
}

/* adds the bias at params[first] to every row of columns elements */
kernel void add_bias(global float *matrix, global const float *params, const uint first, const uint columns,
                     const uint n)
{
	const uint i = get_global_id(0);

	if (i < n)
		matrix[i] += params[first + i % columns];
}

kernel void add_bias_tanh(global float *matrix, global const float *params, const uint first, const uint columns,
                          const uint n)
{
	const uint i = get_global_id(0);

	if (i < n)
		matrix[i] = tanh(matrix[i] + params[first + i % columns]);
}

/* turns the gradient at the output of a tanh layer into that at its input */
kernel void tanh_back(global float *gradient, global const float *output, const uint n)
{
	const uint i = get_global_id(0);

	if (i < n)
		gradient[i] *= 1.0f - output[i] * output[i];
}

/* out[first + c] = sum over the rows of matrix[row][c]; one work-item a column, so that neighbours read neighbours */
kernel void sum_columns(global float *out, const uint first, global const float *matrix, const uint rows, const uint n)
{
	const uint column = get_global_id(0);
	float sum = 0;

	if (column >= n)
		return;
	for (uint row = 0; row < rows; row++)
		sum += matrix[(size_t)row * n + column];
	out[first + column] = sum;
}
