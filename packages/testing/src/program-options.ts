/**
 * Returns Node's options for a program of tests. The program is run from source. Its packages are those that were bundled before the tests
 * if the environment names a file that lists them, or else their sources.
 */
export function programOptions(): string[] {
  const { BUNDLED_PACKAGES: list } = process.env;
  const source = '--conditions=@signalbox/source';
  if (!list) return [source];
  const hook = new URL('./bundled-packages.ts', import.meta.url);
  hook.searchParams.set('list', list);
  return [source, `--import=${hook}`];
}
