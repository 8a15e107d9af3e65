import type { LlmRequest, Message } from '../contract.js';
import type { TaskKind } from '../catalogue/model.js';

export interface Task {
  readonly kind: TaskKind;
  /** 0 to 1: how clearly the words indicate the kind. */
  readonly certainty: number;
}

/** Enough to classify a task; the middle of a long document does not tell what is asked. */
const edgeChars = 2000;

/**
 * Words and signs that indicate a kind of task, each with its weight. Evaluated locally: a model call to choose a model
 * would cost more than it saves.
 */
const clues: readonly (readonly [TaskKind, RegExp, number])[] = [
  ['code', /```|\b(function|class|def|import|const|return|async|await)\b[^.]{0,40}[({=:;]/, 3],
  [
    'code',
    /\b(typescript|javascript|python|rust|golang|java|c\+\+|sql|regex|bash|kubernetes|dockerfile)\b/i,
    2,
  ],
  [
    'code',
    /\b(bug|debug|refactor|compile|stack trace|unit test|pull request|code|script|api endpoint)\b/i,
    2,
  ],
  [
    'mathematics',
    /\b(prove|theorem|integral|derivative|equation|matrix|eigenvalue|probability|modulo)\b/i,
    3,
  ],
  ['mathematics', /\b(calculate|compute|solve for|how many|sum of|percent(age)?)\b/i, 1.5],
  ['mathematics', /\d\s*[-+*/^×÷=]\s*\d|\\(frac|int|sum|sqrt)\b|[∫∑√≤≥]/, 2],
  [
    'reasoning',
    /\b(step by step|explain why|trade-?offs?|analy[sz]e|compare|evaluate|strategy|root cause)\b/i,
    2,
  ],
  ['reasoning', /\b(why|therefore|implications?|pros and cons|design|architecture|plan for|argue)\b/i, 1],
  [
    'extraction',
    /\b(extract|classify|categori[sz]e|label|summari[sz]e|translate|convert to (json|csv)|parse)\b/i,
    3,
  ],
  ['extraction', /\b(list (all|the)|find (all|every)|as json|named entities|sentiment)\b/i, 1.5],
  [
    'small_talk',
    /^\s*(hi|hello|hey|good (morning|evening|afternoon)|thanks?( you)?|ok(ay)?|bye|ciao|olá|oi|hola)\b/i,
    3,
  ],
  ['small_talk', /\b(how are you|who are you|what can you do|tell me a joke)\b/i, 2],
];

export function classifyTask(request: LlmRequest): Task {
  const asked = lastUserText(request.messages);
  const scores = new Map<TaskKind, number>();
  for (const [kind, pattern, weight] of clues) {
    if (pattern.test(asked)) scores.set(kind, (scores.get(kind) ?? 0) + weight);
  }
  // A greeting followed by a request is not small talk.
  if (asked.length > 200) scores.delete('small_talk');
  let best: TaskKind = 'general';
  let bestScore = 0;
  let total = 0;
  for (const [kind, score] of scores) {
    total += score;
    if (score > bestScore) [best, bestScore] = [kind, score];
  }
  return bestScore < 1.5
    ? { kind: 'general', certainty: 0.5 }
    : { kind: best, certainty: bestScore / (total + 1) };
}

function lastUserText(messages: readonly Message[]): string {
  const last = messages.findLast((message) => message.role === 'user');
  const text = last?.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n') ?? '';
  return text.length <= 2 * edgeChars ? text : `${text.slice(0, edgeChars)}\n${text.slice(-edgeChars)}`;
}
