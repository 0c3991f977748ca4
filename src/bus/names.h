/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Every name of the bus interface, for the daemon and for the programs that talk to it. */

#define UNITCELL_NAME "org.unitcell1"
#define UNITCELL_PATH "/org/unitcell1"
#define UNITCELL_EXECUTION_PATH UNITCELL_PATH "/execution"
#define UNITCELL_MANAGER "org.unitcell1.Manager"
#define UNITCELL_EXECUTION "org.unitcell1.Execution"

#define UNITCELL_ERROR "org.unitcell1.Error."
#define ERROR_INVALID_SPEC UNITCELL_ERROR "InvalidSpec"
#define ERROR_TOO_LARGE UNITCELL_ERROR "TooLarge"
#define ERROR_NOT_SUPPORTED UNITCELL_ERROR "NotSupported"
#define ERROR_LANGUAGE_UNAVAILABLE UNITCELL_ERROR "LanguageUnavailable"
#define ERROR_NO_SUCH_POLICY UNITCELL_ERROR "NoSuchPolicy"
#define ERROR_NO_SUCH_EXECUTION UNITCELL_ERROR "NoSuchExecution"
#define ERROR_CANNOT_ENFORCE UNITCELL_ERROR "CannotEnforce"
#define ERROR_BUSY UNITCELL_ERROR "Busy"
#define ERROR_ACCESS_DENIED "org.freedesktop.DBus.Error.AccessDenied"
#define ERROR_FAILED "org.freedesktop.DBus.Error.Failed"
#define ERROR_NO_MEMORY "org.freedesktop.DBus.Error.NoMemory"
#define ERROR_UNKNOWN_PROPERTY "org.freedesktop.DBus.Error.UnknownProperty"

#define ACTION_EXECUTE "org.unitcell1.execute"
#define ACTION_MOUNT_HOST "org.unitcell1.mount-host"
#define ACTION_RELOAD "org.unitcell1.reload"
#define ACTION_USE_RESTRICTED_POLICY "org.unitcell1.use-restricted-policy"
