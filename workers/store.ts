import { withRecoveryAdvice } from "../src/actor/host/recovery-advice.ts";
import { runStore } from "../src/actor/threads/store-main.ts";

export default withRecoveryAdvice(runStore);
