import type { Config, RoleEntry } from '../config.ts';

/**
 * Warns of roles of callers from outside that may do more than ask the agents which are listed for them. `file` is the configuration as
 * people named it.
 */
export function outsideRoles({ a2a, roles, unlisted }: Config, file: string): string[] {
  if (!a2a) return [];
  const listed = [...new Set(Object.values(a2a.agents).map(({ to }) => to))];
  return a2a.roles.flatMap((role) => {
    const entry = roles[role];
    const more = entry ? rightsOf(entry, listed) : defaultRights(unlisted);
    if (more.length === 0) return [];
    const wanted = `{ tools: [], send: { to: [${listed.map((to) => (to.includes(':') ? `"${to}"` : to)).join(', ')}], kinds: [ask] } }`;
    return [
      `${file}: a2a.roles: callers from outside with the role '${role}' may ${more.join(', and ')}; write roles.${role}: ${wanted}`,
    ];
  });
}

function defaultRights(unlisted: Config['unlisted']): string[] {
  return [...(unlisted === 'allow' ? ['use every tool'] : []), 'write to every agent'];
}

function rightsOf(
  { tools, prompts = [], resources = [], send }: RoleEntry,
  listed: readonly string[],
): string[] {
  const others = send?.to.filter((to) => !listed.includes(to)) ?? [];
  const kinds = send?.kinds.filter((kind) => kind !== 'ask') ?? [];
  return [
    ...(tools.length > 0 ? ['use tools'] : []),
    ...(prompts.length > 0 ? ['use prompts'] : []),
    ...(resources.length > 0 ? ['read resources'] : []),
    ...(send ? [] : ['write to every agent']),
    ...(others.length > 0 ? [`write to ${others.join(', ')}`] : []),
    ...(kinds.length > 0 ? [`send messages of kind ${kinds.join(', ')}`] : []),
  ];
}
