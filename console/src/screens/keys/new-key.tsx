import { Button } from '../../ui/button';
import { CopyButton } from '../../ui/copy-button';
import { Dialog } from '../../ui/dialog';
import { Code } from '../../ui/json-view';

/** The only time that a key is shown whole. */
export function NewKey({
  created: { name, api_key: key },
  onClose,
}: {
  readonly created: { readonly name: string; readonly api_key: string };
  readonly onClose: () => void;
}) {
  const example = `export TROUPE_API_KEY='${key}'\ncurl ${location.origin}/api/v1/sessions -H "X-Api-Key: $TROUPE_API_KEY"`;
  return (
    <Dialog open stays onClose={onClose} title={`Key “${name}” is made`}>
      <div className="flex flex-col gap-4">
        <p role="status" className="rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
          Copy it now. It is shown only once and cannot be found out again.
        </p>
        <div className="flex items-center gap-2 rounded-md border border-line bg-sunken py-1 pr-1 pl-3">
          <code data-key className="min-w-0 flex-1 font-mono text-sm wrap-anywhere">
            {key}
          </code>
          <CopyButton text={key} label="Copy the key" />
        </div>
        <Code text={example} label="example" />
        <Button kind="primary" onClick={onClose}>
          I have stored it
        </Button>
      </div>
    </Dialog>
  );
}
