import assert from "node:assert/strict";
import { closeSync, existsSync, openSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { DEFAULT_URL } from "../../src/cli/help.ts";
import { until } from "../e2e/support/wait.ts";
import { type Ended, start } from "./support/program.ts";

/** The built program's commands against something that is not an exchange, or nothing. */

/** A disk without room. Linux. */
const FULL = "/dev/full";

/** Starts a server that is not a perpd; resolves with its URL. */
async function serve(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const run = (args: readonly string[], env: Record<string, string>): Promise<Ended> =>
  start(args, { PERPD_TOKEN: "T", ...env }).ended;

test("a response from something other than perpd is a failure", async (t) => {
  const url = await serve(t, (_request, response) => response.end("<html>It works!</html>"));
  for (const args of [["markets"], ["order", "buy", "BTC-PERP", "1", "market", "--json"], ["cancel", "--all"]]) {
    const { code, out, error } = await run(args, { PERPD_URL: url });
    assert.deepEqual([code, out], [1, ""], args.join(" "));
    assert.match(error, new RegExp(`^NOT_PERPD: ${url} is not a perpd exchange: .*\n$`));
  }
});

test("a request that is cut off is reported with an unknown outcome", async (t) => {
  const url = await serve(t, (request) => request.socket.destroy());
  const { code, out, error } = await run(["order", "buy", "BTC-PERP", "1", "market"], { PERPD_URL: url });
  assert.deepEqual([code, out], [1, ""]);
  assert.match(error, /^the exchange did not answer and may have carried out the request: .*\n$/);
});

test("an unexpected response is not reported as an unreachable exchange", async (t) => {
  const url = await serve(t, (_request, response) => response.end("{}"));
  const { code, out, error } = await run(["markets"], { PERPD_URL: url });
  assert.deepEqual([code, out], [1, ""]);
  assert.match(error, /^unexpected: TypeError: .*\n$/);
});

test("a URL with user, query or fragment is refused, and a possible password is not printed", async () => {
  const cases: [url: string, said: RegExp][] = [
    ["http://127.0.0.1:2/#v1", /must not have a user, query or fragment/],
    ["http://127.0.0.1:2/v1?token=hunter2", /must not have a user, query or fragment/],
    ["http://me:hunter2@127.0.0.1:2/v1", /must not have a user, query or fragment/],
    ["http://hunter2@127.0.0.1:2", /must not have a user, query or fragment/],
    ["http://me:hunter2@127.0.0.1:port", /^the given URL is not valid/],
    ["http:///v1", /^"http:\/\/\/v1" is not valid/],
  ];
  for (const [url, said] of cases) {
    const { code, out, error } = await run(["markets"], { PERPD_URL: url });
    assert.deepEqual([code, out], [2, ""], url);
    assert.match(error, said);
    assert.ok(error.includes(DEFAULT_URL));
    assert.doesNotMatch(error, /hunter2/);
  }
});

test("a token, key or secret with invalid characters is refused and not printed", async () => {
  const cases: [env: Record<string, string>, args: string[], said: RegExp][] = [
    [{ PERPD_TOKEN: "hunter2\nmore" }, [], /^the token must be printable ASCII without spaces\n/],
    [{ PERPD_TOKEN: "hunter2 " }, [], /^the token must be printable ASCII/],
    [{}, ["--token", "hunter2é"], /^the token must be printable ASCII/],
    [{}, ["--token", ""], /^the token must be printable ASCII/],
    [{ PERPD_API_KEY: "hunter2\r", PERPD_SECRET: "S" }, [], /^the API key must be printable ASCII/],
    [{ PERPD_API_KEY: "K", PERPD_SECRET: "hunter2\n" }, [], /^the secret must be printable ASCII/],
  ];
  for (const [env, args, said] of cases) {
    const { code, out, error } = await run(["balance", ...args], { PERPD_URL: "http://127.0.0.1:2", ...env });
    assert.deepEqual([code, out], [2, ""], error);
    assert.match(error, said);
    assert.doesNotMatch(error, /hunter2/);
  }
});

test("a signal kills a command that waits for a reply, and ends a stream with exit code 0", async (t) => {
  let asked = 0;
  const url = await serve(t, () => {
    asked++;
  });
  const cases: [args: string[], code: number | null][] = [
    [["balance"], null],
    [["order", "buy", "BTC-PERP", "1", "market"], null],
    [["stream", "trades", "BTC-PERP"], 0],
  ];
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    for (const [args, code] of cases) {
      const before = asked;
      const { child, ended } = start(args, { PERPD_TOKEN: "T", PERPD_URL: url });
      t.after(() => child.kill("SIGKILL"));
      await until("the request", () => asked > before);
      child.kill(signal);
      assert.deepEqual(await ended, { code, out: "", error: "" }, `${args[0]} ${signal}`);
      assert.equal(child.signalCode, code === null ? signal : null);
    }
});

test("a stream that cannot be opened prints why, and ends when the reason is permanent", async (t) => {
  let status = 502;
  const url = await serve(t, ({ url: path }, response) => {
    response.statusCode = path === "/v1/ws" ? status : 200;
    response.end(path === "/v1/ws" ? "<html>" : JSON.stringify({ status: "ok" }));
  });
  const { ended, said } = start(["stream", "trades", "BTC-PERP"], { PERPD_URL: url });
  const tries = /^(NOT_PERPD: ws:.* is not a perpd exchange: .* \(502\); trying again\n){2}/;
  await until("two tries", () => tries.test(said.error));
  status = 404;
  const { code, out, error } = await ended;
  assert.deepEqual([code, out], [1, ""]);
  assert.match(error, /\nNOT_PERPD: ws:.* is not a perpd exchange: .* \(404\)\n$/);
});

test("a failed write of the results gives exit code 1 and one line", { skip: !existsSync(FULL) }, async (t) => {
  const url = await serve(t, (_request, response) => response.end(JSON.stringify({ data: [] })));
  const full = openSync(FULL, "w");
  t.after(() => closeSync(full));
  for (const args of [["fills"], ["fills", "--json"], ["fills", "--help"]]) {
    const { code, error } = await start(args, { PERPD_TOKEN: "T", PERPD_URL: url }, full).ended;
    assert.equal(code, 1);
    assert.match(error, /^the output cannot be written: ENOSPC: no space left on device.*\n$/);
  }
});
