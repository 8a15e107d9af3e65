// The SQL texts of a TypeScript file. They are read from the compiled file: its syntax tree shows which texts are
// templates, and its comments are no texts.
import { readFileSync } from 'node:fs';
import { parse } from 'acorn';
import { simple } from 'acorn-walk';

/** Lower case, as SQL is written here, at the beginning of a text or of a line. */
const sqlText =
  /(?:^|[\n(])\s*(?:select|insert\s+into|update|delete\s+from|with|from|join|left\s+join|truncate|lock\s+table|merge\s+into)\s/;

/** The texts of the file in which a table may be named. A gap in a template stands as `${}`. */
export function sqlTextsOf(path: string): readonly string[] {
  return sqlTextsIn(readFileSync(path.replace(/^(.*)\.ts$/, 'dist/$1.js'), 'utf8'));
}

export function sqlTextsIn(script: string): readonly string[] {
  const texts: string[] = [];
  const templates = new Set<unknown>();
  const add = (text: string): void => {
    if (sqlText.test(text)) texts.push(text);
  };
  const tree = parse(script, { ecmaVersion: 'latest', sourceType: 'module', allowHashBang: true });
  const textOf = (quasis: readonly { readonly value: { readonly raw: string; readonly cooked?: string | null } }[]) =>
    quasis.map(({ value }) => value.cooked ?? value.raw).join('${}');
  simple(tree, {
    TaggedTemplateExpression({ tag, quasi }) {
      templates.add(quasi);
      const text = textOf(quasi.quasis);
      const isSql = /^sql\b/.test(script.slice(tag.start, tag.end));
      // A fragment may be a table's name alone.
      if (isSql) texts.push(/^\s*[a-z_.]+(?:\s+[a-z]+)?\s*$/.test(text) ? `from ${text}` : text);
      else add(text);
    },
    TemplateLiteral(template) {
      if (!templates.has(template)) add(textOf(template.quasis));
    },
    Literal({ value }) {
      if (typeof value !== 'string') return;
      // A name that is joined into a statement elsewhere. A name of one word means too many other things.
      if (/^[a-z]+(?:_[a-z]+)+$/.test(value)) texts.push(`from ${value}`);
      else add(value);
    },
    ObjectExpression({ properties }) {
      const named = properties.flatMap((property) =>
        property.type === 'Property' && property.key.type === 'Identifier'
          ? [[property.key.name, property.value] as const]
          : [],
      );
      const values = new Map(named);
      if (!values.has('columns')) return;
      for (const value of [values.get('name'), values.get('table')]) {
        if (value?.type === 'Literal' && typeof value.value === 'string') texts.push(`from ${value.value}`);
      }
    },
  });
  return texts;
}
