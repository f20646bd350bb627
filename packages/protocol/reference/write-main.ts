import { writeFileSync } from 'node:fs';
import { referenceFiles } from './files.ts';

for (const { url, text } of referenceFiles()) writeFileSync(url, text);
