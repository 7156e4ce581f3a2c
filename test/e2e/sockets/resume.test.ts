import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { takeSeed } from "../../core/support/seed.ts";
import { runResuming } from "../support/resuming.ts";
import { startServer, type TestServer } from "../support/server.ts";

const EVENTS = 3000;

let server: TestServer;

before(async () => {
  server = await startServer();
});

after(() => server.dispose());

test("a client whose connection is cut at random ends with the same state as one that stays connected", async (t) => {
  const seed = takeSeed("resume.test");
  const { cuts, resumed } = await runResuming(server, seed, EVENTS);
  t.diagnostic(`${cuts} cuts, ${resumed} resumed`);
  assert.ok(cuts > 0);
});
