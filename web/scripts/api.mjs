// Makes src/lib/api/schema.d.ts out of the server's OpenAPI; with --check only says whether it
// still is what would be made.
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';

const source = new URL('../../docs/schemas/openapi.json', import.meta.url);
const target = new URL('../src/lib/api/schema.d.ts', import.meta.url);
const head = '// Generated from docs/schemas/openapi.json by `npm run api:types`.\n\n';
const text = head + astToString(await openapiTS(source));
if (!process.argv.includes('--check')) {
  writeFileSync(target, text);
} else if (readFileSync(target, 'utf8') !== text) {
  console.error('src/lib/api/schema.d.ts is not what docs/schemas/openapi.json describes; run `npm run api:types`');
  process.exit(1);
}
