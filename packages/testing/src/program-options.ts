/**
 * Returns Node's options for a program of tests. It is run from source, on the packages as they were bundled before the
 * tests if the environment names a file that lists them, and else on their sources.
 */
export function programOptions(): string[] {
  const { BUNDLED_PACKAGES: list } = process.env;
  const source = '--conditions=@signalbox/source';
  if (!list) return [source];
  const hook = new URL('./bundled-packages.ts', import.meta.url);
  hook.searchParams.set('list', list);
  return [source, `--import=${hook}`];
}
