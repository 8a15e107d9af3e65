/**
 * Classifies the intent of a message without a model. Only a message that is nothing but a greeting, thanks or a call
 * for help takes the short path without tools. A "yes" never does, because it may answer a question of the agent.
 */
export const intents = ['greeting', 'thanks', 'help', 'task'] as const;
export type Intent = (typeof intents)[number];

const lengthMax = 80;

/** Whole messages, in the most used languages of the platform: English, Portuguese, Spanish, French, German. */
const patterns: readonly (readonly [Exclude<Intent, 'task'>, RegExp])[] = [
  [
    'greeting',
    /^(?:hi|hello|hey|hiya|howdy|good (?:morning|afternoon|evening|day)|greetings|ol[aá]|oi|oie|e a[ií]|bom dia|boa (?:tarde|noite)|hola|buen(?:os|as) (?:d[ií]as|tardes|noches)|salut|bonjour|bonsoir|coucou|hallo|guten (?:morgen|tag|abend)|moin|servus)(?: (?:there|all|everyone|team|again|tudo bem|tudo bom|qu[eé] tal|how are you(?: today| doing)?))*$/,
  ],
  ['greeting', /^(?:how are you(?: today| doing)?|tudo bem|tudo bom|qu[eé] tal|wie geht(?:'|e?)s|[cç]a va)$/],
  [
    'thanks',
    /^(?:ok(?:ay)? |great |perfect |perfeito |[oó]timo )?(?:thanks?|thank you|thx|ty|cheers|many thanks|(?:muito )?obrigad[oa]|valeu|(?:muchas )?gracias|merci(?: beaucoup)?|danke(?: sch[oö]n)?|vielen dank)(?: (?:so much|very much|a lot|again|mesmo|demais))*$/,
  ],
  [
    'help',
    /^(?:help|help me|what can you do(?: for me)?|what do you do|who are you|how (?:do|does) (?:you|this) work|ajuda|me ajuda|o que voc[eê] (?:faz|pode fazer)|quem [eé] voc[eê]|ayuda|qu[eé] puedes hacer|qui[eé]n eres|aide|hilfe|was kannst du)$/,
  ],
];

export function classifyIntent(message: string): Intent {
  if (message.length > lengthMax) return 'task';
  const bare = message
    .toLowerCase()
    .replaceAll(/[\p{P}\p{S}]/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return patterns.find(([, pattern]) => pattern.test(bare))?.[0] ?? 'task';
}
