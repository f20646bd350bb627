import { join } from 'node:path';
import { build } from 'vite';

/**
 * Builds the page of the dashboard as users get it, also for tests. Returns its files: the name, the content and the modules of each, and
 * whether a browser loads it only when something needs it.
 * Vite takes NODE_ENV from the environment. With any other value it writes paths of the sources into the page.
 */
export async function pageFiles(folder) {
  process.env.NODE_ENV = 'production';
  const { output } = await build({
    configFile: join(folder, 'vite.config.js'),
    configLoader: 'native',
    build: { write: false },
  });
  const later = new Set(
    output
      .filter((file) => file.type === 'chunk' && file.isDynamicEntry)
      .flatMap((file) => [file.fileName, ...(file.viteMetadata?.importedCss ?? [])]),
  );
  return output.map((file) => ({
    name: file.fileName,
    content: file.type === 'chunk' ? file.code : file.source,
    modules: file.type === 'chunk' ? file.moduleIds : [],
    isLater: later.has(file.fileName),
  }));
}
