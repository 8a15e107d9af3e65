// Migrates the database named by its argument and prints the applied files; several run at once.
import { migrate } from '../../../src/infra/storage/index.js';

const [, , databaseUrl = ''] = process.argv;
const { applied } = await migrate({ databaseUrl });
process.stdout.write(JSON.stringify(applied));
