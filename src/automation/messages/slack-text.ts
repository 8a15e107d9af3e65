/**
 * Text as Slack writes it: `&`, `<` and `>` of people are entities, since the bare characters begin mentions and links
 * (`<!channel>` notifies everybody in a channel).
 */
const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;' } as const;

/** Slack cuts or refuses a longer text. */
const charsMax = 40_000;
/** However many of its characters become an entity, a text of this length fits. */
export const slackCharsSurelyTaken = charsMax / entities['&'].length;

/** Text for Slack that mentions nobody and links nothing but plain addresses. */
export function slackText(text: string): string {
  return text.replaceAll(/[&<>]/g, (sign) => entities[sign as keyof typeof entities]);
}

/** What a person wrote, from Slack's text. Mentions and links keep Slack's form. */
export function textOfSlack(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

export function fitsSlack(text: string): boolean {
  return slackText(text).length <= charsMax;
}
