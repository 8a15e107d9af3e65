// Prints what each key used this month.
import { troupe } from '../connect.mjs';

const now = new Date();
const day = (date) => date.toISOString().slice(0, 10);
const { data } = await troupe.billing.usage({
  query: {
    start_date: day(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1))),
    end_date: day(now),
    group_by: 'key',
  },
});
for (const { label, calls, input_tokens: input, output_tokens: output, cost } of data.groups) {
  console.log(`${label}: ${calls} calls, ${input} tokens in, ${output} out, $${cost}`);
}
