// Says how much JavaScript the page is after gzip, and stops a build that is over its budget.
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const BUDGET_KB = 150;
const folder = new URL('../dist/assets/', import.meta.url);
const sizes = readdirSync(folder)
  .filter((name) => name.endsWith('.js'))
  .map((name) => gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).length);
const kb = Math.round(sizes.reduce((sum, size) => sum + size, 0) / 100) / 10;
if (process.argv.includes('--json')) console.log(JSON.stringify({ js_gzip_kb: kb }));
else console.log(`JavaScript of the page: ${kb} kB after gzip, budget ${BUDGET_KB} kB`);
if (kb > BUDGET_KB) {
  console.error(`the page is ${kb} kB of JavaScript after gzip, ${BUDGET_KB} kB are allowed`);
  process.exit(1);
}
