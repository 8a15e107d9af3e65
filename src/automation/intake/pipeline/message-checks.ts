import type { Ids } from '../../../kernel/chance.js';
import { type Ready, whenReady } from '../../../kernel/ready.js';
import type { Expressions } from '../../../infra/expressions/index.js';
import type { Store } from '../../../infra/storage/index.js';
import type { Quota } from '../../../tenancy/quota/index.js';
import type { SenderBlocks } from '../../messages/sender-blocks.js';
import type { TurnPort } from '../../triggers/ports.js';
import type { ArrivedMessage, CheckedMessage, Incoming, KeyedMessage } from '../incoming-request.js';
import { memberFinder } from '../../messages/members.store.js';
import { mappedAttachments } from '../../triggers/mapped-context.js';
import { isOpen } from '../authentication.js';
import { hashOfPayload, type MessageKey, messageKeyOf } from '../message-key.js';
import { readQuery, sourcesOf } from '../read-message.js';
import type { FirstAnswer, RepeatedMessages } from '../repeated-messages.js';
import { checkSender } from '../../messages/sender-access.js';
import { consumerKeyOf, sessionOf } from '../sender-identity.js';
import type { UncountedRequests } from '../uncounted-requests.js';
import { alike, CheckList } from './check-list.js';
import { type BlockedMessage, nothingToRun, refused, Stop, stopAtFault, unreadable } from './stop.js';

export interface MessageCheckParts {
  readonly ids: Ids;
  readonly store: Pick<Store, 'inTenant'>;
  readonly repeats: Pick<RepeatedMessages, 'answer' | 'look'>;
  readonly senderBlocks: Pick<SenderBlocks, 'isDenied' | 'isTakenOver'>;
  readonly expressions: Pick<Expressions, 'evaluate'>;
  readonly quota: Pick<Quota, 'admitTenantWork' | 'monthlyRefusal'>;
  readonly uncounted: Pick<UncountedRequests, 'noteRefused'>;
  readonly turns: Pick<TurnPort, 'tokenRefusal'>;
}

type FromSender = Omit<CheckedMessage, 'query' | 'given'>;

/** The checks of one message of a webhook request, in the order of the specification. */
export type MessageChecks = ReturnType<typeof messageChecks>;

export function messageChecks({
  ids,
  store,
  repeats,
  senderBlocks,
  expressions,
  quota,
  uncounted,
  turns,
}: MessageCheckParts) {
  return CheckList.of<ArrivedMessage>()
    .read('key', alike(keyIn))
    .guard('repeat', {
      take: (known) => isRepeat(known, (key) => repeats.answer(known, key)),
      // Neither waits for the first message to be answered nor deletes an expired one.
      look: (known) => isRepeat(known, (key) => repeats.look(known, key)),
    })
    .read('context', alike(contextIn))
    .read(
      'session',
      alike((message: KeyedMessage & Pick<Incoming, 'sources'>) => sessionIn(ids, message)),
    )
    .read(
      'sender',
      alike(({ trigger, config, consumerKey }) => {
        const checking = checkSender(config.sender_access, consumerKey, memberFinder(store, trigger.scope));
        return whenReady(checking, (sender) => ({ sender }));
      }),
    )
    .guard(
      'sender_access',
      alike((known) => (known.sender.allowed ? undefined : blocked('sender_access', known))),
    )
    .guard(
      'denylist',
      alike((known) =>
        whenReady(senderBlocks.isDenied(known.trigger.scope, known.consumerKey), (denied) =>
          denied ? blocked('denylist', known) : undefined,
        ),
      ),
    )
    .guard('text', alike(isReadable))
    .postponed('session_control', async (known: FromSender & Partial<Pick<CheckedMessage, 'query'>>) => {
      const { trigger, derivedSession } = known;
      if (derivedSession === undefined) return undefined;
      const isTaken = await senderBlocks.isTakenOver(trigger.scope, derivedSession);
      return isTaken ? blocked('session', known, known.query) : undefined;
    })
    .read(
      'query',
      alike(({ trigger, config, sources }) =>
        stopAtFault(unreadable, () => {
          const given = mappedAttachments(config.context_mapping, sources.payload);
          const query = readQuery(trigger.scope, config, sources, expressions, given.length > 0);
          return whenReady(query, (text) => ({ query: text, given }));
        }),
      ),
    )
    .guard('rate', {
      take: ({ trigger, config, request, sentWith, window }) => {
        if (window.countedAhead === true) {
          window.countedAhead = false;
          return undefined;
        }
        const admitting = quota.admitTenantWork(trigger.scope, trigger.limits, sentWith);
        return whenReady(admitting, ({ refusal, figures }) => {
          window.figures ??= figures;
          if (refusal === undefined) return undefined;
          if (isOpen(config)) uncounted.noteRefused(request.address, request.body.byteLength);
          return refused(refusal);
        });
      },
      // The request for the dry run was itself admitted by the window that a message is counted in.
      look: () => undefined,
    })
    .guard(
      'tokens',
      // An asynchronous answer could not report this refusal, so the sender gets it now.
      alike(({ trigger, sentWith }) =>
        whenReady(quota.monthlyRefusal(trigger.scope, trigger.limits), (usedUp) =>
          usedUp === undefined && sentWith === undefined
            ? undefined
            : whenReady(
                turns.tokenRefusal({ ...trigger, keyId: sentWith?.keyId }, trigger.agentId),
                (refusal) => refusal && refused(refusal),
              ),
        ),
      ),
    );
}

function keyIn({ request, message }: ArrivedMessage): Ready<Stop | Pick<KeyedMessage, 'key' | 'hash'>> {
  return stopAtFault(unreadable, () => {
    const key = messageKeyOf(request.headers, message);
    // Only keyed messages are compared on a repeat.
    return { key, hash: key?.strict === true ? hashOfPayload(request.body) : '' };
  });
}

function isRepeat(
  { key }: KeyedMessage,
  firstAnswer: (key: MessageKey) => Promise<FirstAnswer | undefined>,
): Ready<Stop | undefined> {
  if (key === undefined) return undefined;
  return stopAtFault(refused, () =>
    whenReady(firstAnswer(key), (first) => first && new Stop({ kind: 'repeated', answer: first.answer })),
  );
}

function contextIn({ config, payload, message }: ArrivedMessage): Pick<Incoming, 'sources'> {
  return { sources: sourcesOf(config, payload, message) };
}

function sessionIn(
  ids: Ids,
  { trigger, config, sources }: KeyedMessage & Pick<Incoming, 'sources'>,
): Ready<Stop | Pick<Incoming, 'consumerKey' | 'derivedSession' | 'sessionId' | 'executionId'>> {
  return stopAtFault(unreadable, () => {
    const derivedSession = sessionOf(trigger.agentId, config, sources);
    return {
      consumerKey: consumerKeyOf(config, sources),
      derivedSession,
      sessionId: derivedSession ?? ids.uuid(),
      executionId: ids.uuid(),
    };
  });
}

/** Pictures, locations and reactions are acknowledged to the channel and start no turn. */
function isReadable({ config, message }: ArrivedMessage): Stop | undefined {
  if (message === undefined || config.query_extraction !== undefined || message.text.trim() !== '')
    return undefined;
  return nothingToRun(config.channel?.type);
}

function blocked(by: BlockedMessage['by'], incoming: FromSender, query?: string): Stop {
  return new Stop({ kind: 'blocked', by, incoming, query });
}
