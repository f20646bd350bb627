import { matchesPattern } from '@signalbox/protocol';
import { isSecretName, secretsByForm } from '../redaction/index.ts';

/** Variables with one purpose. A name with `*` is a pattern. */
export interface VariableGroup {
  purpose: string;
  names: readonly string[];
}

/**
 * The variables of our own process that every hosted server gets. The guide's table is made of this one. Access that belongs to the user,
 * such as `SSH_AUTH_SOCK`, and code that every program would load, such as `NODE_OPTIONS`, are left out on purpose.
 */
export const variableGroups: readonly VariableGroup[] = [
  {
    purpose: 'user, shell and places',
    names: ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TEMP', 'TMP', 'TMPDIR', 'USER', 'XDG_*'],
  },
  { purpose: 'language and time zone', names: ['LANG', 'LANGUAGE', 'LC_*', 'TZ'] },
  { purpose: 'display', names: ['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY'] },
  {
    purpose: 'proxies',
    names: [
      ...['ALL_PROXY', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'NODE_USE_ENV_PROXY'],
      ...['all_proxy', 'http_proxy', 'https_proxy', 'no_proxy'],
    ],
  },
  {
    purpose: 'certificate authorities',
    names: [
      ...['AWS_CA_BUNDLE', 'CARGO_HTTP_CAINFO', 'CURL_CA_BUNDLE', 'DENO_CERT', 'DENO_TLS_CA_STORE'],
      ...['GIT_SSL_CAINFO', 'GIT_SSL_CAPATH', 'NIX_SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'],
      ...['NODE_USE_SYSTEM_CA', 'REQUESTS_CA_BUNDLE', 'SSL_CERT_DIR', 'SSL_CERT_FILE'],
    ],
  },
  {
    purpose: 'Node.js, its package managers and version managers',
    names: [
      ...['BUN_INSTALL', 'COREPACK_*', 'DENO_DIR', 'FNM_*', 'N_PREFIX', 'NPM_CONFIG_*', 'NVM_*'],
      ...['PNPM_HOME', 'VOLTA_*', 'YARN_*', 'npm_config_*'],
    ],
  },
  {
    purpose: 'Python and its package managers',
    names: ['CONDA_*', 'PIPX_*', 'PIP_*', 'POETRY_*', 'PYENV_*', 'PYTHON*', 'UV_*', 'VIRTUAL_ENV'],
  },
  {
    purpose: 'other languages and version managers',
    names: [
      ...['ASDF_*', 'CARGO_HOME', 'DOTNET_ROOT', 'GEM_HOME', 'GOPATH', 'GOPROXY', 'JAVA_HOME', 'MISE_*'],
      ...['RUSTUP_HOME', 'SDKMAN_DIR'],
    ],
  },
  {
    purpose: 'containers',
    names: [
      ...['CONTAINER_HOST', 'DOCKER_API_VERSION', 'DOCKER_CERT_PATH', 'DOCKER_CONFIG', 'DOCKER_CONTEXT'],
      ...['DOCKER_DEFAULT_PLATFORM', 'DOCKER_HOST', 'DOCKER_TLS_VERIFY'],
    ],
  },
  {
    purpose: 'browsers',
    names: [
      ...['CHROME_PATH', 'PLAYWRIGHT_BROWSERS_PATH', 'PLAYWRIGHT_DOWNLOAD_HOST', 'PUPPETEER_CACHE_DIR'],
      'PUPPETEER_EXECUTABLE_PATH',
    ],
  },
];

/** Matches the variables by which npm hands on its own command line, and which an `npx` in a server would obey. */
const ofNpmItself =
  /^npm_config_(call|global|include_workspace_root|local_prefix|package|user_agent|workspaces?)$/i;

/** The working directory of our own process. A server that wants it by its exact name gets it; a pattern would only mislead. */
const ofOurDirectory: ReadonlySet<string> = new Set(['PWD', 'OLDPWD']);

/** The prefixes of the variables that no server gets, because they hold tokens or our own identity. */
export const ownPrefix = 'SIGNALBOX_';

/**
 * The variable that marks a process of a server, and what that process starts, with a random value: the one variable of our own that a
 * server gets.
 */
export const markVariable = 'SIGNALBOX_SERVER_MARK';

type Variables = Readonly<Record<string, string | undefined>>;

/** The variables that a server gets from our environment, and the names of those that were withheld because they hold secrets. */
export interface Inheritance {
  variables: Record<string, string>;
  withheld: string[];
}

/**
 * Chooses the variables of `ours` that a server gets: those of {@link variableGroups}, and those that `patterns` match.
 * A variable whose name or value looks like a secret is withheld, unless a pattern is exactly its name. Variables named
 * `SIGNALBOX_…` are never chosen.
 */
export function inheritedVariables(
  patterns: readonly string[] = [],
  ours: Variables = process.env,
): Inheritance {
  const variables: Record<string, string> = {};
  const withheld: string[] = [];
  for (const [name, value] of Object.entries(ours)) {
    if (value === undefined || name.startsWith(ownPrefix)) continue;
    if (patterns.includes(name)) variables[name] = value;
    else if (isWanted(name, patterns)) {
      if (looksSecret(name, value)) withheld.push(name);
      else variables[name] = value;
    }
  }
  return { variables, withheld };
}

/** Lists those of the patterns that match no variable of `ours`, or only variables that no server gets. */
export function unmatchedVariablePatterns(
  patterns: readonly string[],
  ours: Variables = process.env,
): string[] {
  const names = Object.keys(ours).filter((name) => ours[name] !== undefined && !name.startsWith(ownPrefix));
  return patterns.filter((pattern) => !names.some((name) => matchesPattern(pattern, name)));
}

/** The variables that a server gets because its entry asks for them, secrets included. */
export function requestedVariables(
  patterns: readonly string[] = [],
  ours: Variables = process.env,
): Record<string, string> {
  const { variables } = inheritedVariables(patterns, ours);
  return Object.fromEntries(
    Object.entries(variables).filter(([name]) => patterns.some((pattern) => matchesPattern(pattern, name))),
  );
}

/** The secrets among the variables that a server gets because its entry names them exactly. */
export function inheritedSecrets(
  patterns: readonly string[] = [],
  ours: Variables = process.env,
): Record<string, string> {
  const requested = Object.entries(requestedVariables(patterns, ours));
  return Object.fromEntries(requested.filter(([name, value]) => looksSecret(name, value)));
}

/** Returns true for a variable that is no secret because every server gets it, or because it only says where our process works. */
export function isSetting(name: string, value: string): boolean {
  return (isWanted(name, []) || ofOurDirectory.has(name)) && !looksSecret(name, value);
}

/** Returns true for a variable that is a secret by its name, or that holds one by its form. */
function looksSecret(name: string, value: string): boolean {
  const isKnown = tableNames.has(name) || ofOurDirectory.has(name);
  return (!isKnown && namesSecret(name)) || secretsByForm(value).length > 0;
}

function isWanted(name: string, patterns: readonly string[]): boolean {
  if (ofOurDirectory.has(name)) return false;
  if (patterns.some((pattern) => matchesPattern(pattern, name))) return true;
  return (
    !ofNpmItself.test(name) &&
    (tableNames.has(name) || tablePatterns.some((pattern) => matchesPattern(pattern, name)))
  );
}

const allNames = variableGroups.flatMap(({ names }) => names);
const tableNames: ReadonlySet<string> = new Set(allNames.filter((name) => !name.includes('*')));
const tablePatterns = allNames.filter((name) => name.includes('*'));

/**
 * Tells whether a variable may hold a secret by its name. This is stricter than the rule for other values, because a variable that is left
 * out harms less: a part that means a secret does so anywhere in a name, as in `POETRY_PYPI_TOKEN_MINE` and `npm_config_//host/:_authToken`.
 */
export function namesSecret(name: string): boolean {
  if (/auth/i.test(name)) return true;
  const ends = [...name.matchAll(/[_\-.:/]|$/g)].map(({ index }) => index);
  return ends.some((end) => isSecretName(name.slice(0, end)));
}
