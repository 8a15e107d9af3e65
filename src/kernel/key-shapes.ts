/** How a key of a vendor, or of this product, is recognised in text. */
export interface KeyShape {
  /** What such keys begin with, verbatim. */
  readonly begins: readonly string[];
  /** The characters that follow, as the inside of a class of a regular expression. */
  readonly follow: string;
  /** How many follow at least; fewer may be ordinary words. */
  readonly least: number;
}

const letters = 'abcdefghijklmnopqrstuvwxyz'.split('');
const alphanumeric = 'A-Za-z0-9';

/** Every known key format. The redaction of logs and that of vendors' errors both read this list. */
export const keyShapes: readonly KeyShape[] = [
  // OpenAI, Anthropic, OpenRouter and others that followed
  { begins: ['sk-'], follow: '\\w-', least: 6 },
  { begins: ['pk-lf-'], follow: '\\w-', least: 6 },
  {
    begins: ['sk', 'rk', 'pk'].flatMap((kind) => [`${kind}_live_`, `${kind}_test_`]),
    follow: '\\w',
    least: 6,
  },
  // Names of columns begin with it too, but continue with short words and `_`.
  { begins: ['sk_', 'gsk_'], follow: alphanumeric, least: 20 },
  { begins: ['svc_live_', 'svc_test_', 'svc_dev_'], follow: '\\w-', least: 6 },
  { begins: ['xai-'], follow: '\\w-', least: 12 },
  { begins: ['AIza'], follow: '\\w-', least: 20 },
  { begins: ['ya29.'], follow: '\\w-', least: 12 },
  { begins: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], follow: alphanumeric, least: 6 },
  { begins: ['github_pat_'], follow: '\\w', least: 6 },
  { begins: ['glpat-'], follow: '\\w-', least: 8 },
  { begins: ['AKIA', 'ASIA', 'AROA', 'AIDA'], follow: 'A-Z0-9', least: 8 },
  { begins: letters.map((letter) => `xox${letter}-`), follow: '\\w-', least: 6 },
  { begins: ['xapp-'], follow: '\\w-', least: 12 },
  { begins: ['npm_', 'hf_'], follow: alphanumeric, least: 20 },
  { begins: ['SG.'], follow: '\\w-', least: 16 },
  { begins: ['whsec_'], follow: '\\w+/=-', least: 6 },
];

/**
 * The source of a regular expression for a JSON Web Token. Within a longer word the length is bounded: every `eyJ-` of a
 * hostile text would begin a reading to its end.
 */
export const jsonWebToken = '(?:(?<![\\w-])eyJ[\\w-]{5,}|eyJ[\\w-]{5,2048})\\.[\\w-]{4,}(?:\\.[\\w-]*){1,3}';

/** The source of a regular expression for what the keys of a shape begin with. */
export function beginningOf({ begins }: KeyShape): string {
  const escaped = begins.map((text) => text.replaceAll('.', '\\.'));
  return `(?:${escaped.join('|')})`;
}
