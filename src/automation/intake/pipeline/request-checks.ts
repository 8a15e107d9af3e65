import { z } from 'zod';
import type { AgentsSubject } from '../../../agents/index.js';
import { type Ready, whenReady } from '../../../kernel/ready.js';
import { PlatformError } from '../../../kernel/errors.js';
import type { Store } from '../../../infra/storage/index.js';
import type { Quota } from '../../../tenancy/quota/index.js';
import type { LiveTrigger, LiveTriggers } from '../../triggers/live-triggers.js';
import { requestsOf } from '../../triggers/types/registry.js';
import { isOpen, type WebhookAuthentication } from '../authentication.js';
import { json } from '../../outbox/replies/formats.js';
import { type ChannelMessage, messagesOf } from '../channels.js';
import type { Addressed, Admitted, Arrival } from '../incoming-request.js';
import { portionOf } from '../message-portion.js';
import { payloadOf } from '../payload.js';
import type { UncountedRequests } from '../uncounted-requests.js';
import { alike, CheckList } from './check-list.js';
import { nothingToRun, refused, Stop, stopAtFault } from './stop.js';

export interface RequestCheckParts {
  readonly live: Pick<LiveTriggers, 'get' | 'fresh'>;
  readonly authentication: Pick<WebhookAuthentication, 'authenticate'>;
  readonly uncounted: Pick<UncountedRequests, 'refusal' | 'isRefusedOften'>;
  readonly quota: Pick<Quota, 'admitTenantWork'>;
  readonly agents: Pick<AgentsSubject, 'publishedAgent'>;
  readonly store: Pick<Store, 'inTenant'>;
}

type Given<Name extends keyof Admitted> = Pick<Admitted, Name>;

/** The checks of a webhook request, in the order of the specification. */
export type RequestChecks = ReturnType<typeof requestChecks>;

export function requestChecks({ live, authentication, uncounted, quota, agents, store }: RequestCheckParts) {
  return CheckList.of<Arrival>()
    .read('trigger', {
      take: ({ triggerId }) => whenReady(live.get(triggerId), webhookOf),
      // The dry run that follows a change must not see what the change replaced.
      look: ({ triggerId }) => whenReady(live.fresh(triggerId), webhookOf),
    })
    .read('authentication', {
      take: (known) => authenticated(authentication, known),
      // The caller of a dry run is authenticated as a member of the tenant and has nothing signed.
      look: () => ({ sentWith: undefined, window: { figures: undefined } }),
    })
    .guard('address', {
      // Before the payload is read: a parser is what a stranger would keep busy.
      take: ({ trigger, config, request, window }) => {
        if (!isOpen(config)) return undefined;
        const own = uncounted.refusal(request.address);
        if (own !== undefined) return refused(own);
        if (!uncounted.isRefusedOften(request.address)) return undefined;
        return whenReady(quota.admitTenantWork(trigger.scope, trigger.limits), ({ refusal, figures }) => {
          window.figures = figures;
          window.countedAhead = true;
          return refusal && refused(refusal);
        });
      },
      look: () => undefined,
    })
    .guard('enabled', enabled)
    .guard('agent', published(agents))
    .read('payload', alike(payloadIn))
    .read(
      'messages',
      alike((known) => messagesIn(store, known)),
    );
}

/** The checks of a trigger of any type that is run by hand. */
export function readinessChecks(agents: Pick<AgentsSubject, 'publishedAgent'>) {
  return CheckList.of<Given<'trigger'>>().guard('enabled', enabled).guard('agent', published(agents));
}

const enabled = alike(({ trigger }: Given<'trigger'>) =>
  trigger.enabled ? undefined : refused(new PlatformError('trigger_disabled')),
);

function published(agents: Pick<AgentsSubject, 'publishedAgent'>) {
  return alike(({ trigger }: Given<'trigger'>) =>
    whenReady(agents.publishedAgent(trigger.scope, trigger.agentId), (agent) =>
      agent === undefined ? refused(new PlatformError('agent_not_found')) : undefined,
    ),
  );
}

function webhookOf(trigger: LiveTrigger | undefined): Stop | Pick<Addressed, 'trigger' | 'config'> {
  if (trigger?.suspended === true) return refused(new PlatformError('tenant_suspended'));
  const config = requestsOf(trigger?.parsed);
  if (trigger !== undefined && config !== undefined) return { trigger, config };
  return refused(new PlatformError('not_found', { message: 'The webhook was not found.' }));
}

function authenticated(
  authentication: RequestCheckParts['authentication'],
  { trigger, config, request }: Addressed,
): Ready<Stop | Given<'sentWith' | 'window'>> {
  return stopAtFault(refused, () =>
    whenReady(authentication.authenticate(trigger, config, request), (sent) => ({
      sentWith: sent?.key,
      window: { figures: sent?.figures },
    })),
  );
}

function payloadIn({ request }: Arrival): Ready<Stop | { readonly payload: unknown }> {
  return stopAtFault(refused, () => ({
    payload: payloadOf(request.headers['content-type'] ?? '', request.body),
  }));
}

/** The messages to take now. */
export interface RequestMessages {
  /** Undefined stands for a payload that is itself the message. */
  readonly messages: readonly (ChannelMessage | undefined)[];
  /** Whether messages are left for the sender's next try. */
  readonly more: boolean;
}

const slackRequest = z
  .object({ type: z.string().optional(), challenge: z.string().max(1_000).optional() })
  .catch({});

const payloadItself: RequestMessages = { messages: [undefined], more: false };

function messagesIn(
  store: RequestCheckParts['store'],
  known: Addressed & { readonly payload: unknown },
): Ready<Stop | RequestMessages> {
  const { channel } = known.config;
  if (channel === undefined) return payloadItself;
  if (channel.type === 'slack') {
    const { type, challenge } = slackRequest.parse(known.payload);
    if (type === 'url_verification') {
      return new Stop({ kind: 'ignored', answer: json({ challenge: challenge ?? '' }) });
    }
    // Slack repeats what it got no answer to within three seconds; the first request has run it.
    if (known.request.headers['x-slack-retry-num'] !== undefined) return nothingToRun(channel.type);
  }
  const all = messagesOf(channel.type, known.payload);
  return all.length === 0 ? nothingToRun(channel.type) : portionOf(store, known, all);
}
