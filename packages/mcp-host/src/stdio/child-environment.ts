const inherited = new Set([
  'HOME',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'LOGNAME',
  'PATH',
  'SHELL',
  'TERM',
  'TMPDIR',
  'TZ',
  'USER',
]);

/**
 * Returns the environment of a server: the few variables of this process that a program needs to run, and those of its
 * configuration. Variables named `SIGNALBOX_…` are left out even if they are configured, because they hold tokens.
 */
export function childEnvironment(
  configured: Readonly<Record<string, string>> = {},
  ours: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(ours)) {
    if (inherited.has(name) && value !== undefined) environment[name] = value;
  }
  for (const [name, value] of Object.entries(configured)) {
    if (!name.startsWith('SIGNALBOX_')) environment[name] = value;
  }
  return environment;
}
