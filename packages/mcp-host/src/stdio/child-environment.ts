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
 * Returns the environment of a server: the few variables that a program needs to run here, and those of its
 * configuration. No other variable of ours is passed on, and none named `SIGNALBOX_…` even if it is configured, so
 * tokens stay with us.
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
