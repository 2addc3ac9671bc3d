import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';

/** What the program fills with the run's data; it is kept letter by letter. */
const PLACEHOLDER = '<script id="tilemark-data" type="application/octet-stream;base64"></script>';

/** A report loads nothing and sends nothing; the browser is told to hold it to that. */
const POLICY =
  '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; script-src \'unsafe-inline\'; ' +
  'style-src \'unsafe-inline\'; img-src data: blob:; base-uri \'none\'; form-action \'none\'" />';

/** Puts the empty place for the data at the end of the page. */
function placeholder(): Plugin {
  return {
    name: 'tilemark-placeholder',
    enforce: 'post',
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== 'asset' || !file.fileName.endsWith('.html')) continue;
        const html = String(file.source).replace('<meta charset="utf-8" />', `$&\n    ${POLICY}`);
        const end = html.lastIndexOf('</body>');
        file.source = `${html.slice(0, end)}${PLACEHOLDER}\n  ${html.slice(end)}`;
      }
    },
  };
}

/** The template of `report.html`: one file, no network. */
export default defineConfig({
  define: { __REPORT__: 'true' },
  plugins: [svelte(), viteSingleFile({ removeViteModuleLoader: true }), placeholder()],
  build: { target: 'es2022', outDir: 'dist-report', sourcemap: false },
});
