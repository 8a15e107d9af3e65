import { CopyButton } from './copy-button';

/** Code as text. What a tenant wrote is never markup here. */
export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className="relative rounded-md border border-line bg-sunken">
      <div className="absolute top-1 right-1">
        <CopyButton text={text} label={`Copy ${label}`} />
      </div>
      <pre
        className="max-h-120 overflow-auto p-3 pr-10 font-mono text-xs whitespace-pre-wrap wrap-anywhere"
        tabIndex={0}
        role="region"
        aria-label={label}
      >
        {text}
      </pre>
    </div>
  );
}

/** A JSON value, indented. */
export function JsonView({ value, label = 'JSON' }: { readonly value: unknown; readonly label?: string }) {
  return <Code text={JSON.stringify(value, null, 2) ?? 'undefined'} label={label} />;
}
