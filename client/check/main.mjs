// The program in Node, Bun and Deno.
import process from 'node:process';
import { program } from './program.mjs';

process.stdout.write(`${JSON.stringify(await program(JSON.parse(process.argv[2])))}\n`);
