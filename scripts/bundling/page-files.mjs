import { join } from 'node:path';
import { build } from 'vite';

/** Builds the page of the dashboard and returns its files, each a name and its content. */
export async function pageFiles(folder) {
  const { output } = await build({
    configFile: join(folder, 'vite.config.js'),
    configLoader: 'native',
    build: { write: false },
  });
  return output.map((file) => ({
    name: file.fileName,
    content: file.type === 'chunk' ? file.code : file.source,
  }));
}
