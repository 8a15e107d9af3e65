import test, { type ExecutionContext } from 'ava';
import type { Page } from 'puppeteer-core';
import { build } from 'vite';
import { openBrowser } from '../support/clients/browser.js';

/** What a consumer, a tenant or a model may write to reach the person who reads it. */
const attacks = [
  '<script>globalThis.hit = 1</script>',
  '<img src=x onerror="globalThis.hit = 1">',
  '![x](x"onerror="globalThis.hit=1)',
  '[x](javascript:globalThis.hit=1)',
  '[x](JaVaScRiPt:globalThis.hit=1)',
  '[x](java&#x0A;script:globalThis.hit=1)',
  '[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)',
  '<javascript:globalThis.hit=1>',
  '<a href="vbscript:x">x</a><a href="/api/console/session">own</a>',
  '<svg><script>globalThis.hit = 1</script></svg>',
  '<svg/onload="globalThis.hit = 1">',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=globalThis.hit=1&gt;">',
  '<form><math><mtext></form><form><mglyph><style></math><img src onerror=globalThis.hit=1>',
  '<iframe srcdoc="<script>parent.hit = 1</script>"></iframe>',
  '<object data="javascript:globalThis.hit=1"></object><embed src="javascript:globalThis.hit=1">',
  '<style>body { display: none }</style><link rel=stylesheet href=//other.example>',
  '<base href="//other.example/"><meta http-equiv=refresh content="0;url=//other.example">',
  '<form action="//other.example"><input name=password><button>Sign in</button></form>',
  '<details open ontoggle="globalThis.hit = 1">x</details>',
  '<p style="position:fixed;inset:0" id=root class=fixed>over everything</p>',
  '<img src="//other.example/seen.png"> ![seen](https://other.example/seen.png)',
  '<template><script>globalThis.hit = 1</script></template><noscript><p title="</noscript><img src=x onerror=globalThis.hit=1>">',
  '```html\n<img src=x onerror=globalThis.hit=1>\n```',
  '<a href="https://other.example" onclick="globalThis.hit = 1" target=_self>x</a>',
  '&lt;img src=x onerror=globalThis.hit=1&gt; \\<img src=x onerror=globalThis.hit=1>',
  '<x:script xmlns:x="http://www.w3.org/1999/xhtml">globalThis.hit = 1</x:script>',
];

const allowed = {
  tags: 'A B BLOCKQUOTE BR CODE DEL EM H1 H2 H3 H4 H5 H6 HR I LI OL P PRE S STRONG SUB SUP TABLE TBODY TD TH THEAD TR UL',
  attributes: 'href align start target rel',
};

/** A page without a policy, where what gets through would run. The exports of the file are `made`. */
async function pageWith(t: ExecutionContext, file: string): Promise<Page> {
  t.timeout(600_000);
  const built = await build({
    logLevel: 'silent',
    configFile: false,
    build: { write: false, lib: { entry: file, formats: ['iife'], name: 'made' } },
  });
  const [bundle] = Array.isArray(built) ? built : [built];
  if (bundle === undefined || !('output' in bundle)) throw new Error('Vite made no bundle');
  const page = await openBrowser(t);
  await page.evaluate(`${bundle.output[0].code}; globalThis.made = made;`);
  return page;
}

test('markdown of strangers shows no element, attribute or address beyond the list, and runs nothing', async (t) => {
  const page = await pageWith(t, 'console/src/ui/safe-html.ts');
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  for (const attack of attacks) {
    const found = await page.evaluate(`(() => {
      const [tags, attributes] = [new Set('${allowed.tags}'.split(' ')), new Set('${allowed.attributes}'.split(' '))];
      const box = document.createElement('div');
      document.body.append(box);
      const html = made.safeHtml(${JSON.stringify(attack)});
      const wrong = html === undefined ? ['not parsed'] : [];
      box.innerHTML = html;
      for (const element of box.querySelectorAll('*')) {
        if (!tags.has(element.tagName)) wrong.push(element.tagName);
        for (const { name } of element.attributes) if (!attributes.has(name)) wrong.push(name);
        const address = element.getAttribute('href');
        if (address !== null && !/^(?:https?:|mailto:)/.test(address)) wrong.push(address);
        if (element.tagName === 'A' && !/noopener/.test(element.rel)) wrong.push('rel');
        element.click();
      }
      return wrong;
    })()`);
    t.deepEqual(found, [], attack);
  }
  t.is(await page.evaluate('globalThis.hit'), undefined);
  t.deepEqual(
    requests.filter((url) => !/^https:\/\/other\.example\/?$/.test(url)),
    [],
    'only a click on a link leads to another site',
  );
  const text = await page.evaluate("made.safeHtml('**bold** and `code`\\n\\n- one\\n- two')");
  t.regex(String(text), /<strong>bold<\/strong> and <code>code<\/code>/);
  t.regex(String(text), /<li>one<\/li>/);
});

const endless = { 'nested quotations': '>'.repeat(2_000), 'emphasis that does not end': '_a*'.repeat(5_000) };

test('the console leaves markdown as it is that cannot be shown in bounded time', async (t) => {
  const page = await pageWith(t, 'console/src/ui/safe-html.ts');
  for (const [what, text] of Object.entries(endless))
    t.is(await page.evaluate(`String(made.safeHtml(${JSON.stringify(text)}))`), 'undefined', what);
});

test('the chat of pages shows markdown as text that cannot be shown in bounded time', async (t) => {
  const page = await pageWith(t, 'widget/src/markdown.ts');
  const shown = (text: string): Promise<unknown> =>
    page.evaluate(`(() => {
      const box = document.createElement('div');
      box.append(made.markdown(${JSON.stringify(text)}));
      return { text: box.textContent, tags: [...box.querySelectorAll('*')].map(({ tagName }) => tagName) };
    })()`);
  for (const [what, text] of Object.entries(endless))
    t.deepEqual(await shown(text), { text, tags: ['P'] }, what);
  t.deepEqual(await shown('> **bold**'), { text: 'bold', tags: ['BLOCKQUOTE', 'P', 'STRONG'] });
});
