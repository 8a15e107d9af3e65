import { createLazyRoute, Link } from '@tanstack/react-router';
import { Plus, X } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { useModels } from '../../../api/models';
import { useAllowed } from '../../../session/use-session';
import { Button, buttonClass, IconButton } from '../../../ui/button';
import { CopyAs } from '../../../ui/copy-as';
import type { FieldSpecs, Raws } from '../../../ui/form/fields';
import { problemIn, valuesOf } from '../../../ui/form/fields';
import { FormFields } from '../../../ui/form/form-fields';
import { ModelField } from '../../../ui/model-field';
import { Card, Page } from '../../../ui/page';
import { Forbidden } from '../../../ui/states';
import { comparedMax } from '../routes';
import { AnswerCard } from './answer-card';
import { type Question, useTrial } from './use-trial';

export const Route = createLazyRoute('/frame/models/try')({ component: Trial });

const fields = {
  query: { kind: 'area', label: 'Message', required: true, rows: 3, maxLength: 100_000 },
  system: { kind: 'area', label: 'System prompt', rows: 2, maxLength: 100_000, hint: 'May be left out.' },
  temperature: { kind: 'number', label: 'Temperature', min: 0, max: 2, half: true },
  max_tokens: {
    kind: 'number',
    label: 'Most output tokens',
    min: 1,
    whole: true,
    half: true,
    hint: 'Empty: the limit of the model.',
  },
} as const satisfies FieldSpecs;

function questionOf(raws: Raws): Question {
  const { query, system, temperature, max_tokens: most } = valuesOf(fields, raws);
  return {
    query,
    messages: system.trim() === '' ? [] : [{ role: 'system', content: system }],
    temperature: temperature ?? 0.7,
    ...(most !== undefined && { max_tokens: most }),
    cache: false,
  };
}

/** One question to one model, or to several at once. */
function Trial() {
  const { models: given } = Route.useSearch();
  const navigate = Route.useNavigate();
  const known = useModels();
  const [raws, setRaws] = useState<Raws>({ query: '', system: '', temperature: '0.7', max_tokens: '' });
  const [sent, setSent] = useState(false);
  const { answers, ask, stop } = useTrial();
  if (!useAllowed('llm:call')) {
    return (
      <Page title="Try a call">
        <Forbidden what="calls of models" />
      </Page>
    );
  }
  const first = known?.find(({ available }) => available)?.id ?? 'auto';
  const models = given.length === 0 ? [first] : given;
  const choose = (next: readonly string[]): void =>
    void navigate({ search: { models: next }, replace: true });
  const problem = (name: string): string | undefined =>
    sent ? problemIn(fields[name as keyof typeof fields], raws[name]) : undefined;
  const isRunning = answers.some(({ state }) => state === 'running');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setSent(true);
    const isWrong = Object.entries(fields).some(([name, spec]) => problemIn(spec, raws[name]) !== undefined);
    if (!isWrong) ask(models, questionOf(raws));
  };
  const body = { ...questionOf(raws), model: models[0] };
  return (
    <Page
      title={models.length > 1 ? 'Compare models' : 'Try a call'}
      description="The same message to each model, at once. It is paid like any call, and in the log of calls."
      actions={
        <>
          <Link to="/models" className={buttonClass()}>
            Models
          </Link>
          <CopyAs
            request={{
              method: 'POST',
              path: '/api/v3/llm/public/call',
              body,
              mcp: { tool: 'call_llm', arguments: body },
            }}
          />
        </>
      }
    >
      <form noValidate onSubmit={submit} className="grid items-start gap-4 lg:grid-cols-2">
        <Card title="Question">
          <FormFields
            specs={fields}
            raws={raws}
            problem={problem}
            onChange={(name, raw) => setRaws((present) => ({ ...present, [name]: raw }))}
          />
        </Card>
        <Card title="Models">
          <div className="flex flex-col gap-3">
            {models.map((model, at) => (
              <div key={at} className="flex items-start gap-2">
                <div className="min-w-0 flex-1">
                  <ModelField
                    label={models.length === 1 ? 'Model' : `Model ${at + 1}`}
                    value={model}
                    onChange={(next) => choose(models.map((one, other) => (other === at ? next : one)))}
                  />
                </div>
                {models.length > 1 && (
                  <IconButton
                    className="mt-6"
                    label={`Remove model ${at + 1}`}
                    icon={<X size={14} aria-hidden />}
                    onClick={() => choose(models.filter((_, other) => other !== at))}
                  />
                )}
              </div>
            ))}
            <div className="flex flex-wrap gap-2">
              {models.length < comparedMax && (
                <Button icon={<Plus size={14} aria-hidden />} onClick={() => choose([...models, first])}>
                  Another model
                </Button>
              )}
              <Button kind="primary" type="submit" busy={isRunning}>
                Ask
              </Button>
              {isRunning && <Button onClick={stop}>Stop</Button>}
            </div>
          </div>
        </Card>
      </form>
      <div className="grid items-start gap-4 md:grid-cols-[repeat(auto-fit,minmax(20rem,1fr))]">
        {answers.map((answer, at) => (
          <AnswerCard
            key={at}
            number={at + 1}
            answer={answer}
            price={known?.find(({ id }) => id === answer.model)?.price}
          />
        ))}
      </div>
    </Page>
  );
}
