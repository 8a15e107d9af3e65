import type { SealedPlace, Sealer } from '../../infra/sealing/index.js';

/** Values of an execution as text: those for its tools, and the arguments of calls that wait for a decision. */
export class SealedValues {
  readonly #sealer: Pick<Sealer, 'seal' | 'open'>;

  constructor(sealer: Pick<Sealer, 'seal' | 'open'>) {
    this.#sealer = sealer;
  }

  readonly seal = (text: string, executionId: string): string =>
    this.#sealer.seal(Buffer.from(text), placeOf(executionId)).toString('base64');

  readonly unseal = (sealed: string, executionId: string): string =>
    this.#sealer.open(Buffer.from(sealed, 'base64'), placeOf(executionId)).toString('utf8');
}

function placeOf(executionId: string): SealedPlace {
  return ['execution values', executionId];
}
