import { volatileActor } from '../../cluster/activation/kind.js';
import { EchoServiceDefinition, type FlowRequest } from '../../generated/troupe/examples/v1/echo.js';

export const echo = volatileActor({
  service: EchoServiceDefinition,
  methods: { flow: { lane: 'control' } },
  create: () => ({
    echo: (message: { payload: Uint8Array }) => message,
    async *flow({ count, bytes }: FlowRequest) {
      const payload = new Uint8Array(bytes);
      for (let left = count; left > 0; left -= 1) yield { payload };
    },
  }),
});
