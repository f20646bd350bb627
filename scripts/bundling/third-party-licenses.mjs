import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Returns the licenses of the packages from which these modules come, each with the name and the version of its package. A bundle
 * contains their code, so it must carry their licenses. Throws if a package has none.
 */
export function thirdPartyLicenses(modules) {
  const folders = modules.flatMap((id) => /^\0?(.*\/node_modules\/(@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? []);
  const licenses = [...new Set(folders)].map((folder) => {
    const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return `${name} ${version}\n\n${licenseIn(folder)}\n`;
  });
  return [...new Set(licenses)].sort().join(`\n${'-'.repeat(80)}\n\n`);
}

function licenseIn(folder) {
  const file = readdirSync(folder).find((name) => /^licen[cs]e\b/i.test(name));
  if (file === undefined) throw new Error(`${folder} has no license, so it can't be bundled`);
  return readFileSync(join(folder, file), 'utf8').trim();
}
