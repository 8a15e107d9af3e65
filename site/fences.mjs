// Diagrams become SVG when the site is built, and blocks that the tests do not run say why.
import { readFileSync } from 'node:fs';
import { renderMermaidSVG } from 'beautiful-mermaid';

// Not imported: VitePress bundles the configuration, and Node 20 and 22 spell the import of JSON differently.
const reasons = JSON.parse(readFileSync(new URL('./reasons.json', import.meta.url), 'utf8'));

export function markFences(markdown) {
  const { fence: plain, code_inline: code } = markdown.renderer.rules;
  // Braces in backticks are text, not a template of Vue.
  markdown.renderer.rules.code_inline = (tokens, index, ...others) => {
    tokens[index].attrSet('v-pre', '');
    return code(tokens, index, ...others);
  };
  markdown.renderer.rules.fence = (tokens, index, ...others) => {
    const token = tokens[index];
    const [language = '', ...words] = token.info.trim().split(/\s+/);
    if (language === 'mermaid') return diagram(token.content);
    token.info = language;
    const [, reason] = words.find((word) => word.startsWith('not-run='))?.split('=') ?? [];
    const note =
      reason === undefined ? '' : `<p class="not-run">Not run by the tests: ${reasons[reason]}.</p>\n`;
    return plain(tokens, index, ...others) + note;
  };
}

/** Wider than a page, an LR diagram is drawn from top to bottom. */
const widestPx = 800;
const colours = { bg: 'var(--vp-c-bg)', fg: 'var(--vp-c-text-1)' };

function diagram(source) {
  const asWritten = renderMermaidSVG(source, colours);
  const turned = source.replace(/^flowchart LR/, 'flowchart TB');
  const drawn =
    widthOf(asWritten) > widestPx && turned !== source ? renderMermaidSVG(turned, colours) : asWritten;
  const svg = widthOf(drawn) < widthOf(asWritten) ? drawn : asWritten;
  // Its style asks another origin for a font; style.css has the rules.
  const bare = svg.replace(/<style>[^]*?<\/style>/, '').replaceAll(/\n\s*\n/g, '\n');
  return `<div class="diagram" v-pre>${bare}</div>\n`;
}

function widthOf(svg) {
  return Number(/ width="([\d.]+)"/.exec(svg)?.[1]);
}
