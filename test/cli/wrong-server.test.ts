import assert from "node:assert/strict";
import { closeSync, existsSync, openSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { DEFAULT_URL } from "../../src/cli/help.ts";
import { until } from "../e2e/support/wait.ts";
import { type Ended, start } from "./support/program.ts";

/** The commands of the built program where there is no exchange: something else answers, or nobody. */

/** A disk without room. Linux. */
const FULL = "/dev/full";

/** A server that is no perpd; resolves with its URL. */
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

test("what answers but is no perpd has not done what was asked", async (t) => {
  const url = await serve(t, (_request, response) => response.end("<html>It works!</html>"));
  for (const args of [["markets"], ["order", "buy", "BTC-PERP", "1", "market", "--json"], ["cancel", "--all"]]) {
    const { code, out, error } = await run(args, { PERPD_URL: url });
    assert.deepEqual([code, out], [1, ""], args.join(" "));
    assert.match(error, new RegExp(`^NOT_PERPD: what answers at ${url} is no perpd: .*\n$`));
  }
});

test("a request that is cut off is not said not to have reached the exchange", async (t) => {
  const url = await serve(t, (request) => request.socket.destroy());
  const { code, out, error } = await run(["order", "buy", "BTC-PERP", "1", "market"], { PERPD_URL: url });
  assert.deepEqual([code, out], [1, ""]);
  assert.match(error, /^the exchange did not answer, and may have done what was asked: .*\n$/);
});

test("an answer that is not understood is not called an exchange that is away", async (t) => {
  const url = await serve(t, (_request, response) => response.end("{}"));
  const { code, out, error } = await run(["markets"], { PERPD_URL: url });
  assert.deepEqual([code, out], [1, ""]);
  assert.match(error, /^unexpected: TypeError: .*\n$/);
});

test("a URL with more than an address is refused, and what may be a password not repeated", async () => {
  const cases: [url: string, said: RegExp][] = [
    ["http://127.0.0.1:2/#v1", /no user, no query and no fragment/],
    ["http://127.0.0.1:2/v1?token=hunter2", /no user, no query and no fragment/],
    ["http://me:hunter2@127.0.0.1:2/v1", /no user, no query and no fragment/],
    ["http://hunter2@127.0.0.1:2", /no user, no query and no fragment/],
    ["http://me:hunter2@127.0.0.1:port", /^what is given is no URL such as/],
    ["http:///v1", /^"http:\/\/\/v1" is no URL such as/],
  ];
  for (const [url, said] of cases) {
    const { code, out, error } = await run(["markets"], { PERPD_URL: url });
    assert.deepEqual([code, out], [2, ""], url);
    assert.match(error, said);
    assert.ok(error.includes(DEFAULT_URL));
    assert.doesNotMatch(error, /hunter2/);
  }
});

test("a token, key or secret that no request can carry is refused, and not repeated", async () => {
  const cases: [env: Record<string, string>, args: string[], said: RegExp][] = [
    [{ PERPD_TOKEN: "hunter2\nmore" }, [], /^the token is not printable ASCII without spaces\n/],
    [{ PERPD_TOKEN: "hunter2 " }, [], /^the token is not/],
    [{}, ["--token", "hunter2é"], /^the token is not/],
    [{}, ["--token", ""], /^the token is not/],
    [{ PERPD_API_KEY: "hunter2\r", PERPD_SECRET: "S" }, [], /^the API key is not/],
    [{ PERPD_API_KEY: "K", PERPD_SECRET: "hunter2\n" }, [], /^the secret is not/],
  ];
  for (const [env, args, said] of cases) {
    const { code, out, error } = await run(["balance", ...args], { PERPD_URL: "http://127.0.0.1:2", ...env });
    assert.deepEqual([code, out], [2, ""], error);
    assert.match(error, said);
    assert.doesNotMatch(error, /hunter2/);
  }
});

test("a command that waits for an answer is ended by a signal; a stream ends well", async (t) => {
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

test("a stream that cannot be opened says why, and ends where that will not pass", async (t) => {
  let status = 502;
  const url = await serve(t, ({ url: path }, response) => {
    response.statusCode = path === "/v1/ws" ? status : 200;
    response.end(path === "/v1/ws" ? "<html>" : JSON.stringify({ status: "ok" }));
  });
  const { ended, said } = start(["stream", "trades", "BTC-PERP"], { PERPD_URL: url });
  const tries = /^(NOT_PERPD: what answers at ws:.* \(502\); trying again\n){2}/;
  await until("two tries", () => tries.test(said.error));
  status = 404;
  const { code, out, error } = await ended;
  assert.deepEqual([code, out], [1, ""]);
  assert.match(error, /\nNOT_PERPD: what answers at ws:.* \(404\)\n$/);
});

test("results that cannot be written are a failure, told in one line", { skip: !existsSync(FULL) }, async (t) => {
  const url = await serve(t, (_request, response) => response.end(JSON.stringify({ data: [] })));
  const full = openSync(FULL, "w");
  t.after(() => closeSync(full));
  for (const args of [["fills"], ["fills", "--json"], ["fills", "--help"]]) {
    const { code, error } = await start(args, { PERPD_TOKEN: "T", PERPD_URL: url }, full).ended;
    assert.equal(code, 1);
    assert.match(error, /^the output cannot be written: ENOSPC: no space left on device.*\n$/);
  }
});
