#!/usr/bin/env bash
# z.fromJSONSchema of zod 4.6.7 throws for some keywords of JSON Schema that it cannot do, and is silently wrong in others. It drops required
# in a branch of anyOf or allOf that says no more, and for a name without a property of its own; it drops what stands beside $ref; and const
# with an object refuses the one value that it allows. So arguments that a tool's schema refuses (ajv 8.20.0) pass, and the reverse.
#
# Seen on Linux with Node 24: schema, value, what zod and ajv say:
#   {"type":"object","required":["a"]} {}: zod takes, ajv refuses
#   {"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]} {}: zod takes, ajv refuses
#   {"properties":{"a":{"type":"string"}},"required":["a"]} {}: zod takes, ajv refuses
#   {"$ref":"#/$defs/name","minLength":3,"$defs":{"name":{"type":"string"}}} "x": zod takes, ajv refuses
#   {"const":{"a":1}} {"a":1}: zod refuses, ajv takes
#   {"type":"object","properties":{"a":{"type":"string"}},"required":["a"]} {}: zod refuses, ajv refuses
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund zod@4.6.7 ajv@8.20.0 > /dev/null
cat > try.mjs <<'JS'
import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';
const properties = { a: { type: 'string' } };
const pairs = [
  [{ type: 'object', required: ['a'] }, {}],
  [{ type: 'object', anyOf: [{ required: ['a'] }, { required: ['b'] }] }, {}],
  [{ properties, required: ['a'] }, {}],
  [{ $ref: '#/$defs/name', minLength: 3, $defs: { name: { type: 'string' } } }, 'x'],
  [{ const: { a: 1 } }, { a: 1 }],
  [{ type: 'object', properties, required: ['a'] }, {}],
];
const ajv = new Ajv2020({ strict: false });
const word = (fits) => (fits ? 'takes' : 'refuses');
for (const [schema, value] of pairs) {
  const told = `zod ${word(z.fromJSONSchema(schema).safeParse(value).success)}, ajv ${word(ajv.validate(schema, value))}`;
  console.log(`${JSON.stringify(schema)} ${JSON.stringify(value)}: ${told}`);
}
JS
node try.mjs | tee seen
diff - seen <<'TXT'
{"type":"object","required":["a"]} {}: zod takes, ajv refuses
{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]} {}: zod takes, ajv refuses
{"properties":{"a":{"type":"string"}},"required":["a"]} {}: zod takes, ajv refuses
{"$ref":"#/$defs/name","minLength":3,"$defs":{"name":{"type":"string"}}} "x": zod takes, ajv refuses
{"const":{"a":1}} {"a":1}: zod refuses, ajv takes
{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]} {}: zod refuses, ajv refuses
TXT
