import DOMPurify from 'dompurify';
import { Marked } from 'marked';
import { boundedMarkdown } from './bounded-markdown';

/**
 * Markdown of a model or a person. The sanitised result has no scripts, styles, forms, pictures of other origins or
 * frames; links open beside the console and tell the other site nothing.
 */
const purifier = DOMPurify(window);
purifier.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return;
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer nofollow');
});

const tags =
  'a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i li ol p pre s strong sub sup table tbody td th thead tr ul'.split(
    ' ',
  );

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Markup within the text is text. It is written as such before anything parses it: a browser reports the handlers of an
 * element that it only parses, although they never run.
 */
const marked = new Marked({
  renderer: { html: ({ text }) => text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '') },
});

/** Longer texts are shown as they are: parsing them would hold up the page. */
const charactersMax = 200_000;

/** Nothing for a text that is to be shown as it is. */
export function safeHtml(text: string): string | undefined {
  return boundedMarkdown(text, charactersMax, (tokenizer) => {
    const html = marked.parse(text, { async: false, gfm: true, breaks: true, tokenizer });
    return purifier.sanitize(html, {
      ALLOWED_TAGS: tags,
      ALLOWED_ATTR: ['href', 'align', 'start'],
      ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
    });
  });
}
