/* Contains these packages:

*/
"use strict";(()=>{})();
