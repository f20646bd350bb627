import type { Config } from '../config.ts';

/** A value that is nothing but a variable of a shell, perhaps after the word `Bearer`. */
const variable = /^(?:Bearer )?\$(?:\{([A-Z][A-Z0-9_]*)\}|([A-Z][A-Z0-9_]*))$/;

/**
 * Warns of values of servers that read like a variable or the home directory of a shell, which nobody expands. The warning holds the name
 * of the variable only.
 */
export function literalValues({ mcpServers, origins }: Pick<Config, 'mcpServers' | 'origins'>): string[] {
  return Object.entries(mcpServers).flatMap(([server, entry]) => {
    const { file = '(config)', line = 1 } = origins[server] ?? {};
    const { args = [], env = {} } = entry.type === 'stdio' ? entry : {};
    const { headers = {} } = entry.type === 'http' ? entry : {};
    const values = [
      ...args.map((value, at) => [`args[${at}]`, value] as const),
      ...Object.entries(env).map(([name, value]) => [`env.${name}`, value] as const),
      ...Object.entries(headers).map(([name, value]) => [`headers.${name}`, value] as const),
    ];
    return values.flatMap(([key, value]) => {
      const place = `${file}:${line}: mcpServers.${server}.${key}`;
      const [, braced, bare] = variable.exec(value) ?? [];
      const name = braced ?? bare;
      if (name !== undefined)
        return [`${place}: the server gets this text as it stands; for the variable, write \${env:${name}}`];
      return value.startsWith('~/')
        ? [`${place}: the server gets ~ as it stands; write \${env:HOME} in its place`]
        : [];
    });
  });
}
