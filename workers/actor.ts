import { withRecoveryAdvice } from "../src/actor/host/recovery-advice.ts";
import { runActors } from "../src/actor/threads/threads.ts";

export default withRecoveryAdvice(runActors);
