import { callSources } from '../../models/calls/index.js';
import { PlatformError } from '../../kernel/errors.js';
import { askModel, textOf } from './ask-model.js';
import { cheapestModel } from './cheapest-model.js';
import { type Intent, intents, classifyIntent } from './intent.js';
import { TurnInterrupted, TurnLost } from './interruption.js';
import type { StepDetail } from './turn.js';
import { mayBegin, type TurnWork } from './turn-work.js';

type IntentDetail = Extract<StepDetail, { readonly step: 'intent' }>;

/** Short, because the intent is only a hint on how to answer. */
const clocks = { firstSignalMs: 5_000, idleMs: 5_000, callMs: 10_000 };
const messageCharsMax = 2_000;

const instructions =
  'You sort messages of users by what they want. Answer with one word and nothing else: "greeting" for a message ' +
  'that only greets, "thanks" for one that only thanks, "help" for one that only asks what the assistant can do, ' +
  '"task" for everything else.';

/** The intent of the message: classified locally, or by the cheapest model if the agent asks for it. */
export async function intentOf(work: TurnWork): Promise<Intent> {
  const { start } = work;
  if (start.attachments.length > 0) return 'task';
  if (start.agent.snapshot.metadata.intent_check !== 'model') return classifyIntent(start.message);
  const { steps, totals, parts } = work;
  const step = steps.begin('intent', callSources.intentCheck);
  if (step.ended?.detail?.step === 'intent') {
    totals.add(step.ended.detail);
    return known(step.ended.detail.intent);
  }
  const model = await cheapestModel(parts, start);
  await mayBegin(work);
  try {
    const detail = await checked(work, model, step.again);
    totals.add(detail);
    steps.end(step, 'finished', detail);
    return known(detail.intent);
  } catch (error) {
    steps.end(step, 'failed', { step: 'intent', intent: 'task' });
    work.interruption.check();
    if (error instanceof TurnLost || error instanceof TurnInterrupted) throw error;
    // The full path answers in any case; a refusal that applies to it too is reported there.
    if (!(error instanceof PlatformError)) parts.report('checking the intent of a message', error);
    return 'task';
  }
}

async function checked(work: TurnWork, model: string | undefined, again: boolean): Promise<IntentDetail> {
  const message = work.start.message.slice(0, messageCharsMax).toWellFormed();
  const answer = await askModel(work, {
    source: callSources.intentCheck,
    ...(model !== undefined && { model }),
    request: {
      messages: [
        { role: 'system', content: instructions },
        { role: 'user', content: [{ type: 'text', text: message }] },
      ],
      temperature: 0,
      // Enough for one word, and for a model that thinks first.
      maxTokens: 512,
    },
    clocks,
    again,
    mayAct: () => work.ports.mayAct(),
  });
  const word = /^\W*(\w+)\W*$/.exec(textOf(answer).toLowerCase())?.[1] ?? '';
  const { usage, cost, admitted } = answer;
  return { step: 'intent', intent: known(word), usage, cost, admitted };
}

/** An unusable answer takes the full path. */
function known(word: string): Intent {
  return intents.find((intent) => intent === word) ?? 'task';
}
