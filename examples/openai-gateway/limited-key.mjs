// Prints a new API key for one program: two models, five dollars a day.
import { troupe } from '../connect.mjs';

const { data } = await troupe.keys.create({
  body: {
    name: 'shop program',
    role: 'editor',
    allowed_models: ['sim.echo', 'sim.tools'],
    budget: { usd: 5, period: 'day' },
    expiresInDays: 90,
  },
});
console.log(data.api_key);
