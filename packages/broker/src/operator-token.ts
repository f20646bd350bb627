import { writeWhole } from '@signalbox/serving/whole-files';
import type { AuditEvent, TokenRecord } from '@signalbox/store';
import type { TokenRegistry } from './auth/token-registry.ts';
import { readText } from './broker-files.ts';

/** Issues the operator's token and writes it to `file`, unless the file already holds a valid token. */
export async function ensureOperatorToken(
  tokens: TokenRegistry,
  file: string,
  eventOf: (record: TokenRecord) => AuditEvent,
): Promise<void> {
  const text = await readText(file);
  if (text !== undefined && isOperator(tokens.authenticate(text))) return;
  const { token } = (await tokens.issue({ agent: 'operator', role: 'operator' }, eventOf))!;
  await writeWhole(file, `${token}\n`);
}

function isOperator(record: ReturnType<TokenRegistry['authenticate']>): boolean {
  return typeof record === 'object' && 'permissions' in record && record.permissions.includes('operator');
}
