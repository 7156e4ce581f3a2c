import { checkTlsFiles } from "./config/tls.ts";
import type { Config } from "./config.ts";
import { probePort } from "./front/http/port-probe.ts";
import { Gateway } from "./gateway/gateway.ts";
import { openProcessLog, type ProcessLog } from "./process-log.ts";
import type { Stopper } from "./stopper.ts";
import { tuneV8 } from "./tune-v8.ts";

/** Runs a gateway. Rejects with the reason when it cannot start. */
export async function serveGateway(config: Config, warnings: readonly string[], stopper: Stopper): Promise<void> {
  const processLog = openProcessLog(config);
  stopper.logTo(processLog);
  try {
    await start(config, warnings, processLog, stopper);
  } catch (error) {
    if (stopper.isStopping) return;
    // The caller prints the error and ends the process.
    await processLog.flush();
    throw error;
  }
}

async function start(
  config: Config,
  warnings: readonly string[],
  { log, stdout, end }: ProcessLog,
  stopper: Stopper,
): Promise<void> {
  tuneV8();
  for (const warning of warnings) log.warn(warning);
  if (config.tls !== null) for (const warning of checkTlsFiles(config.tls, Date.now())) log.warn(warning);
  await probePort(config.host, config.port);
  const gateway = await Gateway.open(config, log);
  stopper.add(() => gateway.stop());
  await Promise.race([gateway.ready, gateway.done]);
  if (stopper.isStopping) return;
  gateway.done.catch((err: Error) => {
    log.fatal({ err }, err.message);
    end(1);
  });
  const { url, socketUrl } = gateway;
  stdout.write(`perpd gateway is ready: ${url}  ${socketUrl}\n`);
}
