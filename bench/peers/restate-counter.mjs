// A counter as a virtual object of Restate: its sum is committed before the answer. Sends its port when it listens.
import { createServer } from 'node:http2';

// Node 20 lacks this function, and calls through the SDK then hang.
Promise.withResolvers ??= function withResolvers() {
  let settle;
  const promise = new Promise((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...settle };
};
const { createEndpointHandler, object } = await import('@restatedev/restate-sdk');

const counter = object({
  name: 'Counter',
  handlers: {
    add: async (context, amount) => {
      const sum = ((await context.get('sum')) ?? 0) + amount;
      context.set('sum', sum);
      return sum;
    },
  },
});
const server = createServer(createEndpointHandler({ services: [counter], logger: () => {} }));
server.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }));
process.on('disconnect', () => process.exit(0));
