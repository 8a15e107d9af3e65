// Calls of every kind of outcome, made by the thousand. The prompt tells the vendor's reaction and the moment at which the
// caller leaves, so neither the order of requests nor the serving vendor matters.
//
// The prompts are six words of one letter: the vendors count as many tokens as the platform estimates, so the tests know
// the figures of estimated calls to the token too.
import type { CallOrder } from '../../../src/models/calls/index.js';
import type { TenantScope } from '../../../src/kernel/tenant-scope.js';
import { PlatformError } from '../../../src/kernel/errors.js';
import { LeaveController } from '../../../src/llm/index.js';
import { type CallsRig, orderOf } from '../servers/calls-rig.js';
import { AnthropicServer } from '../servers/vendors/anthropic-server.js';
import { OpenAiServer } from '../servers/vendors/openai-server.js';
import type { Script, SeenRequest } from '../servers/vendors/vendor-server.js';

interface Kind {
  /** The vendor's reaction to the first request, and to each one after it. */
  readonly scripts: readonly [Script, Script?];
  readonly stream: boolean;
  readonly clocks?: CallOrder['clocks'];
  /** The caller leaves once it has so many pieces. */
  readonly leavesAfter?: number;
  /** Of a hundred calls. */
  readonly share: number;
}

const answer: Script = { pieces: ['Yes', ', ', 'so', ' it', ' is'] };
const roomy = 60_000;
/** Long enough that a busy machine has read the earlier data. */
const shortMs = 10_000;

const kinds: Readonly<Record<string, Kind>> = {
  s: { share: 25, stream: true, scripts: [answer] },
  w: { share: 20, stream: false, scripts: [answer] },
  t: {
    share: 10,
    stream: true,
    scripts: [{ thinking: ['hm'], toolCalls: [{ id: 'c', name: 'f', args: ['{}'] }] }],
  },
  r: { share: 10, stream: true, scripts: [{ status: 500 }, answer] },
  q: { share: 5, stream: false, scripts: [{ status: 429, headers: { 'retry-after-ms': '1' } }, answer] },
  e: { share: 5, stream: true, scripts: [{ ...answer, failAfter: 0 }, answer] },
  m: { share: 4, stream: true, scripts: [{ ...answer, failAfter: 2 }] },
  x: { share: 4, stream: true, scripts: [{ ...answer, cutAfter: 3 }] },
  b: { share: 4, stream: true, scripts: [{ status: 400 }] },
  g: { share: 4, stream: true, scripts: [{ garbage: 'data: <html>\n\n' }, answer] },
  c: { share: 7, stream: true, leavesAfter: 2, scripts: [{ ...answer, hangAfter: 2 }] },
  i: {
    share: 1,
    stream: true,
    clocks: { firstSignalMs: roomy, idleMs: shortMs, callMs: roomy },
    scripts: [{ ...answer, hangAfter: 3 }],
  },
  h: {
    share: 1,
    stream: true,
    clocks: { firstSignalMs: shortMs, idleMs: roomy, callMs: roomy },
    scripts: [{ hangBeforeHeaders: true }, answer],
  },
};
const letters = Object.entries(kinds).flatMap(([letter, { share }]) =>
  Array.from({ length: share }, () => letter),
);

/** The kinds in the order of a shuffle that is the same in every run. */
export function promptOf(nth: number): string {
  const kind = letters[(nth * 37 + 11) % letters.length] ?? 's';
  const digits = [0, 1, 2, 3, 4].map((place) =>
    String.fromCharCode(97 + (Math.floor(nth / 26 ** place) % 26)),
  );
  return [kind, ...digits].join(' ');
}

export function promptOfRequest(seen: SeenRequest): string {
  return /\b[a-z](?: [a-z]){5}\b/.exec(JSON.stringify(seen.body['messages']))?.[0] ?? '';
}

export interface MixedVendors {
  readonly openai: OpenAiServer;
  readonly anthropic: AnthropicServer;
  readonly xai: OpenAiServer;
}

export const models = {
  openai: 'openai.gpt-4.1-mini',
  anthropic: 'anthropic.claude-haiku-4-5',
  xai: 'xai.grok-4.3',
} as const;

/** Vendors that follow the instructions in the prompts. */
export async function startMixedVendors(): Promise<MixedVendors> {
  const vendors = {
    openai: new OpenAiServer(),
    anthropic: new AnthropicServer(),
    xai: new OpenAiServer('xai'),
  };
  for (const server of Object.values(vendors)) {
    const seenBefore = new Set<string>();
    server.decide = (seen) => {
      const prompt = promptOfRequest(seen);
      const [first, then = first] = kinds[prompt[0] ?? '']?.scripts ?? [answer];
      if (seenBefore.has(prompt)) return then;
      seenBefore.add(prompt);
      return first;
    };
    await server.start();
  }
  return vendors;
}

export async function stopMixedVendors(vendors: MixedVendors): Promise<void> {
  for (const server of Object.values(vendors)) await server.stop();
}

export function accessTo(baseUrls: Readonly<Record<keyof MixedVendors, string>>) {
  return {
    openai: { apiKey: 'sk-one-of-the-platform', baseUrl: baseUrls.openai },
    anthropic: { apiKey: 'sk-ant-of-the-platform', baseUrl: baseUrls.anthropic },
    xai: { apiKey: 'xai-one-of-the-platform', baseUrl: baseUrls.xai },
  };
}

export type Ending = 'answered' | 'left' | 'refused';

/** Makes the call with this number, and tells how it ended for its caller. */
export async function mixedCall({ calls }: CallsRig, scope: TenantScope, nth: number): Promise<Ending> {
  const text = promptOf(nth);
  const kind = kinds[text[0] ?? ''];
  if (kind === undefined) throw new Error(`no kind ${text}`);
  const chain = [models.openai, models.anthropic, models.xai];
  const [model = models.openai, ...fallbackModels] = chain.map(
    (_, at) => chain[(nth + at) % 3] ?? models.openai,
  );
  const signal = new LeaveController();
  const order = orderOf(
    scope,
    { messages: [{ role: 'user', content: [{ type: 'text', text }] }], stream: kind.stream },
    { model, fallbackModels, clocks: kind.clocks, signal },
  );
  try {
    const call = (await calls.models.prepare(order))();
    let pieces = 0;
    const served = await call.run((events) => {
      pieces += events.filter(({ type }) => type === 'content').length;
      if (kind.leavesAfter !== undefined && pieces >= kind.leavesAfter) signal.leave();
    });
    return served === undefined ? 'left' : 'answered';
  } catch (error) {
    if (error instanceof PlatformError) return 'refused';
    throw error;
  }
}

/** Makes these calls, so many at once. */
export async function mixedCalls(
  count: number,
  atOnce: number,
  make: (nth: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await make(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
