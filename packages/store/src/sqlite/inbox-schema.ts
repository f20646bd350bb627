/**
 * Metadata comes before `body`, so that reading it never touches the overflow pages of a large one.
 */
export const inboxMigrations: readonly string[] = [
  `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
  INSERT INTO meta VALUES ('seq_reserved', 0), ('identity', lower(hex(randomblob(16))));

  CREATE TABLE message (
    seq INTEGER PRIMARY KEY,
    inbox TEXT NOT NULL,
    id TEXT NOT NULL,
    sender TEXT NOT NULL,
    sender_address TEXT NOT NULL,
    sender_role TEXT NOT NULL,
    kind TEXT NOT NULL,
    correlation_id TEXT,
    traceparent TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    size INTEGER NOT NULL,
    body TEXT
  );
  CREATE UNIQUE INDEX message_by_id ON message (id, inbox, sender);
  CREATE INDEX message_by_inbox ON message (inbox, seq);

  CREATE TABLE dead_letter (
    seq INTEGER PRIMARY KEY,
    inbox TEXT NOT NULL,
    id TEXT NOT NULL,
    sender TEXT NOT NULL,
    sender_address TEXT NOT NULL,
    sender_role TEXT NOT NULL,
    kind TEXT NOT NULL,
    correlation_id TEXT,
    traceparent TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    size INTEGER NOT NULL,
    dead_at INTEGER NOT NULL,
    reason TEXT,
    body TEXT
  );

  CREATE TABLE slice (number INTEGER PRIMARY KEY, opened_at INTEGER NOT NULL, closed_at INTEGER, bytes INTEGER NOT NULL);
  CREATE TABLE journal (inbox TEXT PRIMARY KEY, journal_id TEXT NOT NULL) WITHOUT ROWID;
  `,
  // Few messages have a token: the others pay nothing for the index.
  `
  ALTER TABLE message ADD COLUMN token_id TEXT;
  CREATE INDEX message_by_token ON message (token_id) WHERE token_id IS NOT NULL;
  `,
  // What each commit did, as long as it is recent: see messages.ts.
  'CREATE TABLE record (number INTEGER PRIMARY KEY, entries TEXT NOT NULL, bodies TEXT NOT NULL)',
  // Settled messages, some hundred in a row: see settled-pages.ts. Slices of before are taken over by adopt-slices.ts.
  `
  CREATE TABLE settled_page (number INTEGER PRIMARY KEY, until INTEGER NOT NULL, bytes INTEGER NOT NULL, ids TEXT NOT NULL);
  CREATE TABLE settled_content (number INTEGER PRIMARY KEY, hashes BLOB NOT NULL, entries TEXT NOT NULL);
  `,
  // Of the table of messages: counting the rows of a long inbox takes seconds.
  `
  CREATE TABLE inbox_count (
    inbox TEXT NOT NULL, sender TEXT NOT NULL, pending INTEGER NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (inbox, sender)
  ) WITHOUT ROWID;
  INSERT INTO inbox_count SELECT inbox, sender, count(*), sum(size) FROM message GROUP BY inbox, sender;
  `,
  // Records take another form from here on, which versions before cannot read; nothing to do for those that are there.
  'SELECT 1',
  // Unsettled messages of one inbox that aged together: see bundles.ts.
  `
  CREATE TABLE bundle (
    number INTEGER PRIMARY KEY, inbox TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    expires_at INTEGER NOT NULL, ids TEXT NOT NULL, hashes BLOB NOT NULL, entries TEXT NOT NULL, bodies TEXT NOT NULL
  );
  CREATE INDEX bundle_by_inbox ON bundle (inbox, last);
  CREATE INDEX bundle_by_expiry ON bundle (expires_at);
  `,
];
