import { serveIntake } from './hand-written.js';

// Checks the signature but stores nothing.
serveIntake(
  () => undefined,
  async () => undefined,
);
